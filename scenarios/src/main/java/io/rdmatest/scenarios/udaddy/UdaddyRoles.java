package io.rdmatest.scenarios.udaddy;

import io.rdmatest.Ledger;
import io.rdmatest.scenarios.engine.ConnectionResult;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.role.RoleContext;
import java.util.List;

/**
 * The two sides of udaddy(1): unreliable datagrams between queue pairs that find each other by service id resolution. The
 * client sends first, the server answers to the queue pair that its messages came from.
 *
 * <p>The status, the length, the global route header, the immediate data and the source queue pair of every message are
 * looked at. Two of ours know each other by their private data: then every message carries its number, and is compared.
 */
public final class UdaddyRoles {

    private UdaddyRoles() {}

    /**
     * The results of one side.
     *
     * @param times one for each path; of the four, the last one is 0, and at the server the first two are
     * @param messagesReceived messages that arrived
     * @param messagesSent messages that left
     * @param bytesReceived bytes that arrived, without the 40 of the global route header
     * @param bytesVerified bytes of them that were compared
     * @param reordered messages that arrived after a later one
     * @param unverified why payload that arrived was not compared; empty if all was, or there was none
     * @param surplus requests beyond the number of paths, which the server rejected
     * @param setUpNanos until all paths were known, at the server from the first request
     * @param transferNanos for all messages of both directions
     */
    public record Result(
            List<Times> times,
            long messagesReceived,
            long messagesSent,
            long bytesReceived,
            long bytesVerified,
            long reordered,
            String unverified,
            int surplus,
            long setUpNanos,
            long transferNanos)
            implements ConnectionResult {

        /** Keeps the list. */
        public Result {
            times = List.copyOf(times);
        }
    }

    /**
     * Answers the requests, receives first, and sends as much back.
     *
     * @param options what to expect
     */
    public record Server(UdaddyOptions options) implements Role<Result> {

        /**
         * {@inheritDoc}
         *
         * @throws io.rdmatest.scenarios.role.ScenarioException if the peer or the host is not up to it
         */
        @Override
        public Result run(RoleContext context) {
            try (Ledger.StackSharing ignored = Ledger.shareStack();
                    DatagramSet set = new DatagramSet(context, options, true)) {
                long start = set.awaitRequests();
                long up = System.nanoTime();
                set.receive();
                set.send();
                return set.result(up - start, System.nanoTime() - up);
            }
        }
    }

    /**
     * Looks the server's queue pairs up, sends first, and receives as much.
     *
     * @param options what to do
     */
    public record Client(UdaddyOptions options) implements Role<Result> {

        /**
         * {@inheritDoc}
         *
         * @throws io.rdmatest.scenarios.role.ScenarioException if the peer is not there or refuses, or the host is not up to it
         */
        @Override
        public Result run(RoleContext context) {
            try (Ledger.StackSharing ignored = Ledger.shareStack();
                    DatagramSet set = new DatagramSet(context, options, false)) {
                long start = System.nanoTime();
                set.resolve();
                long up = System.nanoTime();
                set.send();
                set.receive();
                return set.result(up - start, System.nanoTime() - up);
            }
        }
    }
}
