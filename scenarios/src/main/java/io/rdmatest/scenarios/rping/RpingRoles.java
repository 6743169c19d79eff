package io.rdmatest.scenarios.rping;

import io.rdmatest.scenarios.role.ForwardingContext;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.role.RoleContext;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.HdrHistogram.Histogram;

/**
 * The two sides of rping(1): the client advertises a buffer, the server reads it by RDMA READ, the client advertises a
 * second one, the server writes what it read into that by RDMA WRITE. Either side may be the C program.
 *
 * <p>What the C program leaves open is decided here: every wait ends, a peer that goes away in the middle is distinguished from one
 * that is done, and one client of a persistent server can't harm the others.
 */
public final class RpingRoles {

    private static final Consumer<String> NOBODY = line -> {};
    private static final Consumer<Throwable> NO_ONE = failure -> {};

    private RpingRoles() {}

    /**
     * The results of the server.
     *
     * @param pings pings answered
     * @param bytesRead bytes that RDMA READ brought
     * @param bytesVerified how many of them were compared with the pattern
     * @param clients clients that came, also those that were rejected
     * @param failedClients how many of them failed; their pings until then are counted
     * @param failures why, the first {@value RpingServer#FAILURES_KEPT}; empty unless the server is persistent, for the
     *     failure of an only client is the server's
     */
    public record ServerResult(
            long pings, long bytesRead, long bytesVerified, int clients, int failedClients, List<String> failures) {}

    /**
     * The results of the client.
     *
     * @param pings pings that came back
     * @param bytesReturned bytes that RDMA WRITE brought
     * @param bytesVerified how many of them were compared with the pattern: all with -V, else none
     * @param nanos the duration of all pings together, in nanoseconds
     * @param latencies the duration of each ping (one RDMA READ and one RDMA WRITE of the server), in nanoseconds
     * @param resolveNanos address resolution
     * @param routeNanos route resolution
     * @param connectNanos from the request to the established connection
     */
    public record ClientResult(
            long pings,
            long bytesReturned,
            long bytesVerified,
            long nanos,
            Histogram latencies,
            long resolveNanos,
            long routeNanos,
            long connectNanos) {}

    /**
     * Answers the pings of one client until it disconnects, or of many at once until it is cancelled.
     *
     * <p>Without a size limit agreed on beforehand, a client of ours that wants more than the server's buffer is rejected
     * with the reason; a C client is cut off at its first ping.
     *
     * @param options what to do
     * @param printed takes the lines of -v; called by several threads at once if the server is persistent
     * @param traced takes the lines of -d; likewise
     */
    public record Server(RpingOptions options, Consumer<String> printed, Consumer<String> traced)
            implements Role<ServerResult> {

        /** Creates a server that prints nothing. */
        public Server(RpingOptions options) {
            this(options, NOBODY, NOBODY);
        }

        /** Returns the options; who listens says nothing. */
        @Override
        public String toString() {
            return "Server[" + options + "]";
        }

        /**
         * Serves.
         *
         * @throws io.rdmatest.scenarios.role.ScenarioException PEER_LOST if the only client left in the middle of a
         *     ping, or before it had made as many as were agreed on; SIZE_REFUSED if its pings are larger than the buffer
         * @throws io.rdmatest.scenarios.engine.PayloadMismatchError if what RDMA READ brought is not a ping
         * @throws io.rdmatest.RdmaTimeoutException if no client comes, or none of its messages before the first ping
         */
        @Override
        public ServerResult run(RoleContext context) {
            return run(context, NO_ONE);
        }

        /**
         * Does the same for a caller that needs more of a failure than the sentence in the results.
         *
         * @param failed takes what went wrong with each client of a persistent server, before this returns; one call at a time,
         *     and none for a client above the limit that the options set
         */
        public ServerResult run(RoleContext context, Consumer<Throwable> failed) {
            return new RpingServer(tracing(context, options, traced), options, printed, failed).run();
        }
    }

    /**
     * Sends pings and, with -V, compares every byte that comes back.
     *
     * @param options what to do
     * @param printed takes the lines of -v
     * @param traced takes the lines of -d
     */
    public record Client(RpingOptions options, Consumer<String> printed, Consumer<String> traced)
            implements Role<ClientResult> {

        /** Creates a client that prints nothing. */
        public Client(RpingOptions options) {
            this(options, NOBODY, NOBODY);
        }

        /** Returns the options; who listens says nothing. */
        @Override
        public String toString() {
            return "Client[" + options + "]";
        }

        /**
         * Pings. Without a number of pings, this goes on until the client is cancelled, and then returns what it did.
         *
         * @throws io.rdmatest.scenarios.role.ScenarioException PEER_LOST if the server goes away in between;
         *     SIZE_REFUSED if its buffer is smaller than the pings; REJECTED if it serves as many clients as it may
         * @throws io.rdmatest.scenarios.engine.PayloadMismatchError if what RDMA WRITE brought is not what was sent
         * @throws io.rdmatest.UnexpectedCmEventException if the connection does not come up
         * @throws io.rdmatest.RdmaTimeoutException if the server accepts and does not answer the first ping
         */
        @Override
        public ClientResult run(RoleContext context) {
            return new RpingClient(tracing(context, options, traced), options, printed).run();
        }
    }

    private static RoleContext tracing(RoleContext context, RpingOptions options, Consumer<String> traced) {
        if (!options.debug()) {
            return context;
        }
        return new ForwardingContext(context) {
            @Override
            public void trace(Supplier<String> what) {
                traced.accept(what.get());
            }
        };
    }
}
