package io.rdmatest.scenarios.ucmatose;

import io.rdmatest.Cause;
import io.rdmatest.ConnectionMode;
import io.rdmatest.Ledger;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.cm.CmId;
import io.rdmatest.scenarios.engine.ConnectionResult;
import io.rdmatest.scenarios.engine.RcLink;
import io.rdmatest.scenarios.engine.Waiting;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.role.RoleContext;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/**
 * The two sides of ucmatose(1): connections, messages first from the server and then from the client, and the server
 * disconnects.
 *
 * <p>Unlike the C program, the status and the length of every completion are looked at. Two of ours know each other by
 * their private data: they compare every byte, and notice at once when their options differ. Of a C program only
 * completions, lengths and counts are checked, for it sends what happens to be in its memory.
 */
public final class UcmatoseRoles {

    private UcmatoseRoles() {}

    /**
     * What ibv_query_qp(3) says of a connected queue pair.
     *
     * @param trafficClass the traffic class of its address vector, 0 to 255; -1 if it has none
     * @param ackTimeout the exponent of its ACK timeout, 0 to 31
     */
    public record Attributes(int trafficClass, int ackTimeout) {}

    /**
     * The results of one side.
     *
     * @param times one for each connection
     * @param messagesReceived messages that arrived
     * @param messagesSent messages that the peer acknowledged
     * @param bytesReceived bytes that arrived
     * @param bytesVerified bytes of them that were compared
     * @param unverified why payload that arrived was not compared; empty if all was, or there was none
     * @param attributes what the device says of each queue pair once it is connected; empty unless the options set the type of
     *     service or the ACK timeout
     * @param paths the different paths that rdma_cm resolved, in words, of the active side; eight at most
     * @param surplus connection requests beyond the number of connections, which the server rejected
     * @param setUpNanos until all connections stood, at the server from the first request
     * @param transferNanos for all messages of both directions
     * @param tearDownNanos from the first disconnect until everything was destroyed
     */
    public record Result(
            List<Times> times,
            long messagesReceived,
            long messagesSent,
            long bytesReceived,
            long bytesVerified,
            String unverified,
            List<Attributes> attributes,
            List<String> paths,
            int surplus,
            long setUpNanos,
            long transferNanos,
            long tearDownNanos)
            implements ConnectionResult {

        /** Keeps the list. */
        public Result {
            times = List.copyOf(times);
            attributes = List.copyOf(attributes);
            paths = List.copyOf(paths);
        }

        private Result tornDown(long nanos) {
            return new Result(
                    times,
                    messagesReceived,
                    messagesSent,
                    bytesReceived,
                    bytesVerified,
                    unverified,
                    attributes,
                    paths,
                    surplus,
                    setUpNanos,
                    transferNanos,
                    nanos);
        }
    }

    /**
     * Accepts the connections, sends first, and disconnects. More connections than it expects are rejected.
     *
     * @param options what to expect
     */
    public record Server(UcmatoseOptions options) implements Role<Result> {

        /**
         * {@inheritDoc}
         *
         * @throws io.rdmatest.scenarios.role.ScenarioException if the peer or the host is not up to it
         */
        @Override
        public Result run(RoleContext context) {
            return UcmatoseRoles.run(context, options, true);
        }
    }

    /**
     * Opens the connections, receives first, and follows the server's disconnect.
     *
     * @param options what to do
     */
    public record Client(UcmatoseOptions options) implements Role<Result> {

        /**
         * {@inheritDoc}
         *
         * @throws io.rdmatest.scenarios.role.ScenarioException if the peer is not there or refuses, or the host is not up to it
         */
        @Override
        public Result run(RoleContext context) {
            return UcmatoseRoles.run(context, options, false);
        }
    }

    private static Result run(RoleContext context, UcmatoseOptions options, boolean server) {
        Result result;
        long parting;
        try (Ledger.StackSharing ignored = Ledger.shareStack();
                ConnectionSet set = new ConnectionSet(context, options, server)) {
            long start = System.nanoTime();
            if (server) {
                set.listen();
                start = set.awaitConnections();
            } else {
                set.connect();
            }
            long up = System.nanoTime();
            if (server) {
                set.send();
                set.receive();
            } else {
                set.receive();
                set.send();
            }
            parting = System.nanoTime();
            if (options.migrate()) {
                set.migrate();
            }
            if (server) {
                set.disconnect();
            } else {
                set.awaitDisconnect();
            }
            result = set.result(up - start, parting - up);
        }
        return result.tornDown(System.nanoTime() - parting);
    }

    /** Accepts a connection, returns the private data of the request with its answer, and follows the client's disconnect. */
    public record EchoingServer(int length, Duration timeout) implements Role<byte[]> {

        /** Returns the private data of the request. */
        @Override
        public byte[] run(RoleContext context) {
            try (RcLink.Listener listener = RcLink.Listener.open(context, null, 0, 1)) {
                context.tell(Integer.toString(listener.id().localPort()));
                try (RcLink link = RcLink.accept(
                        context,
                        bare(timeout),
                        listener.awaitRequest(timeout),
                        prepared -> Arrays.copyOf(prepared.peerData(), length))) {
                    link.awaitDisconnect();
                    return link.peerData();
                }
            }
        }
    }

    /** Connects with private data and ends the connection. */
    public record AskingClient(byte[] privateData, Duration timeout) implements Role<byte[]> {

        /** Returns the private data of the answer. */
        @Override
        public byte[] run(RoleContext context) {
            InetSocketAddress target = new InetSocketAddress(
                    context.peerAddress(), Integer.parseInt(context.hear("port of the server", timeout)));
            try (RcLink link = RcLink.connect(context, bare(timeout), null, target, prepared -> privateData)) {
                link.disconnect();
                return link.peerData();
            }
        }
    }

    private static RcLink.Spec bare(Duration timeout) {
        return new RcLink.Spec(ConnectionMode.RDMA_CM, 1, 1, 0, 1, Waiting.POLLING, false, timeout);
    }

    /** Rejects one request with private data. */
    public record RejectingServer(byte[] privateData, Duration timeout) implements Role<byte[]> {

        /** Returns the private data of the request. */
        @Override
        public byte[] run(RoleContext context) {
            try (RcLink.Listener listener = RcLink.Listener.open(context, null, 0, 1)) {
                context.tell(Integer.toString(listener.id().localPort()));
                var request = listener.awaitRequest(timeout);
                try (CmId id = request.id()) {
                    id.reject(privateData);
                }
                return request.privateData();
            }
        }
    }

    /**
     * How a connection was refused.
     *
     * @param event the event by its C name
     * @param cause what the event and its status mean
     * @param text the event in words
     * @param privateData the peer's private data; may be empty
     */
    public record Refusal(String event, Cause cause, String text, byte[] privateData) {}

    /**
     * Connects and expects to be refused.
     *
     * @param port where to; 0 to be told by the other side
     * @param privateData what to attach to the request
     * @param timeout how long the refusal may take
     */
    public record RefusedClient(int port, byte[] privateData, Duration timeout) implements Role<Refusal> {

        /**
         * Returns the refusal.
         *
         * @throws AssertionError if the connection came up
         */
        @Override
        public Refusal run(RoleContext context) {
            int remotePort = port != 0 ? port : Integer.parseInt(context.hear("port of the server", timeout));
            InetSocketAddress target = new InetSocketAddress(context.peerAddress(), remotePort);
            try (RcLink link = RcLink.connect(context, bare(timeout), null, target, prepared -> privateData)) {
                throw new AssertionError("The connection to port " + remotePort + " came up, " + link.queuePair());
            } catch (UnexpectedCmEventException refusal) {
                return new Refusal(
                        refusal.got(),
                        refusal.rdmaCause(),
                        String.valueOf(refusal.getMessage()),
                        refusal.privateData());
            }
        }
    }

    /** Accepts a connection and then says nothing until it is given up. */
    public record SilentServer(Duration timeout) implements Role<Boolean> {

        @Override
        public Boolean run(RoleContext context) {
            RcLink.Spec spec = bare(timeout);
            try (RcLink.Listener listener = RcLink.Listener.open(context, null, 0, 1)) {
                context.tell(Integer.toString(listener.id().localPort()));
                try (RcLink link =
                        RcLink.accept(context, spec, listener.awaitRequest(timeout), prepared -> new byte[0])) {
                    link.awaitDisconnected();
                    return true;
                } catch (RdmaTimeoutException e) {
                    return false;
                }
            }
        }
    }
}
