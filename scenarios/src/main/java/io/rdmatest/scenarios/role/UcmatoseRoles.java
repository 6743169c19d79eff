package io.rdmatest.scenarios.role;

import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.SendFlag;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The two sides of ucmatose(1): connections by rdma_cm, messages first from the server and then from the client, and
 * the server disconnects. Unlike the C program, every completion's status and every byte is looked at.
 */
public final class UcmatoseRoles {

    private static final SendFlag[] SIGNALED = {SendFlag.SIGNALED};

    private UcmatoseRoles() {}

    /**
     * What both sides must agree on.
     *
     * @param connections how many connections (ucmatose -c)
     * @param messages messages on each connection in each direction, 0 for none (-C)
     * @param size bytes of a message (-S)
     * @param bringUp {@link BringUp#RDMA_CM} or {@link BringUp#EXTERNAL_QP}
     * @param verify whether messages carry known data; the C program sends what is in its memory
     * @param migrate whether ids move to another event channel before they disconnect (-m)
     * @param typeOfService the client's type of service, -1 to leave it (-t)
     * @param ackTimeout the exponent of the ACK timeout, 4.096 us times 2^n, -1 to leave it (-a)
     * @param privateData what the client attaches to its request, and the server returns with its answer; at most 56 bytes
     * @param timeout how long to wait for any one step
     */
    public record Plan(
            int connections,
            int messages,
            int size,
            BringUp bringUp,
            boolean verify,
            boolean migrate,
            int typeOfService,
            int ackTimeout,
            byte[] privateData,
            Duration timeout) {

        /** Returns a plan of verified messages with nothing special about the connections. */
        public static Plan of(int connections, int messages, int size, BringUp bringUp, Duration timeout) {
            return new Plan(connections, messages, size, bringUp, true, false, -1, -1, new byte[0], timeout);
        }

        /** Returns this plan with private data in request and answer. */
        public Plan withPrivateData(byte[] data) {
            return new Plan(
                    connections, messages, size, bringUp, verify, migrate, typeOfService, ackTimeout, data, timeout);
        }

        /** Returns this plan with ids that move to another event channel. */
        public Plan withMigration() {
            return new Plan(
                    connections,
                    messages,
                    size,
                    bringUp,
                    verify,
                    true,
                    typeOfService,
                    ackTimeout,
                    privateData,
                    timeout);
        }

        /** Returns this plan with a type of service and an ACK timeout; -1 leaves either as it is. */
        public Plan withOptions(int service, int ack) {
            return new Plan(connections, messages, size, bringUp, verify, migrate, service, ack, privateData, timeout);
        }

        /** Returns this plan for a C program at the other side. */
        public Plan unverified() {
            return new Plan(
                    connections,
                    messages,
                    size,
                    bringUp,
                    false,
                    migrate,
                    typeOfService,
                    ackTimeout,
                    privateData,
                    timeout);
        }

        private RcLink.Spec spec() {
            return new RcLink.Spec(bringUp, Math.max(1, messages), Math.max(1, messages), 0, 1, false, false, timeout);
        }
    }

    /**
     * The times of one connection, in nanoseconds; at the server only the last one is set.
     *
     * @param resolve address resolution
     * @param route route resolution
     * @param connect from the request to the established connection
     * @param disconnect from the disconnect to its event; only at the side that disconnects first
     */
    public record Times(long resolve, long route, long connect, long disconnect) {}

    /**
     * The results of one side.
     *
     * @param times one for each connection
     * @param messagesReceived messages that arrived
     * @param bytesVerified bytes of them that were compared
     */
    public record Result(List<Times> times, long messagesReceived, long bytesVerified) {}

    /**
     * Accepts the connections, sends first, and disconnects.
     *
     * @param address the address to bind to; null for that of the device
     * @param port the port, 0 for a free one, which is told to the other side
     * @param plan what to expect
     */
    public record Server(@Nullable InetAddress address, int port, Plan plan) implements Role<Result> {

        @Override
        public Result run(RoleContext context) {
            List<Peer> peers = new ArrayList<>();
            EventChannel other = plan.migrate() ? EventChannel.create() : null;
            try (RcLink.Listener listener = RcLink.Listener.open(context, address, port, plan.connections())) {
                context.tell(Integer.toString(listener.id().localPort()));
                try {
                    for (int i = 0; i < plan.connections(); i++) {
                        Peer peer = new Peer(plan, i, "server");
                        peers.add(peer);
                        peer.link = RcLink.accept(
                                context,
                                plan.spec(),
                                listener.awaitRequest(plan.timeout()),
                                id -> {
                                    if (plan.ackTimeout() >= 0) {
                                        id.setAckTimeout(plan.ackTimeout());
                                    }
                                },
                                peer::prepare);
                    }
                    peers.forEach(Peer::send);
                    peers.forEach(Peer::awaitSent);
                    peers.forEach(Peer::receive);
                    if (other != null) {
                        peers.forEach(peer -> peer.link().id().migrate(other));
                    }
                    peers.forEach(peer -> peer.link().disconnect());
                    return result(peers);
                } finally {
                    peers.forEach(Peer::close);
                }
            } finally {
                if (other != null) {
                    other.close();
                }
            }
        }
    }

    /**
     * Opens the connections, receives first, and follows the server's disconnect.
     *
     * @param source the address to send from; null for any
     * @param address the server's address; null for that of the device
     * @param port the server's port; 0 to be told by the other side
     * @param plan what to do
     */
    public record Client(
            @Nullable InetAddress source, @Nullable InetAddress address, int port, Plan plan) implements Role<Result> {

        @Override
        public Result run(RoleContext context) {
            InetAddress remote = address != null ? address : context.device().address();
            int remotePort =
                    port != 0 ? port : Integer.parseInt(context.hear("port of the ucmatose server", plan.timeout()));
            List<Peer> peers = new ArrayList<>();
            EventChannel other = plan.migrate() ? EventChannel.create() : null;
            try {
                for (int i = 0; i < plan.connections(); i++) {
                    Peer peer = new Peer(plan, i, "client");
                    peers.add(peer);
                    peer.link = RcLink.connect(
                            context,
                            plan.spec(),
                            source,
                            new InetSocketAddress(remote, remotePort),
                            this::tune,
                            peer::prepare);
                    peer.verifyAnswer();
                }
                peers.forEach(Peer::receive);
                peers.forEach(Peer::send);
                peers.forEach(Peer::awaitSent);
                if (other != null) {
                    peers.forEach(peer -> peer.link().id().migrate(other));
                }
                peers.forEach(peer -> peer.link().awaitDisconnect());
                return result(peers);
            } finally {
                peers.forEach(Peer::close);
                if (other != null) {
                    other.close();
                }
            }
        }

        private void tune(CmId id) {
            if (plan.typeOfService() >= 0) {
                id.setTypeOfService(plan.typeOfService());
            }
            if (plan.ackTimeout() >= 0) {
                id.setAckTimeout(plan.ackTimeout());
            }
        }
    }

    private static Result result(List<Peer> peers) {
        List<Times> times = peers.stream()
                .map(Peer::link)
                .map(link -> new Times(link.resolveNanos, link.routeNanos, link.connectNanos, link.disconnectNanos))
                .toList();
        return new Result(
                times,
                peers.stream().mapToLong(peer -> peer.received).sum(),
                peers.stream().mapToLong(peer -> peer.verified).sum());
    }

    private static final class Peer {

        private final Plan plan;
        private final int number;
        private final String side;
        private @Nullable RcLink link;
        private @Nullable MemoryRegion buffer;
        private long received;
        private long verified;

        private Peer(Plan plan, int number, String side) {
            this.plan = plan;
            this.number = number;
            this.side = side;
        }

        private RcLink link() {
            RcLink present = link;
            if (present == null) {
                throw new IllegalStateException("Connection " + number + " is not there yet");
            }
            return present;
        }

        private MemoryRegion buffer() {
            MemoryRegion present = buffer;
            if (present == null) {
                throw new IllegalStateException("Connection " + number + " has no memory yet");
            }
            return present;
        }

        /** A part of its own for every message, so that each can be told from the others. */
        private byte[] prepare(RcLink prepared) {
            long bytes = Math.max(1L, 2L * plan.messages() * plan.size());
            MemoryRegion region = prepared.register(bytes, Access.LOCAL_WRITE);
            buffer = region;
            for (int i = 0; i < plan.messages(); i++) {
                prepared.postReceive(i, region, (long) i * plan.size(), plan.size());
                Payload.fill(outgoing(region, i), data(i, side.equals("server")));
            }
            return side.equals("server")
                    ? Arrays.copyOf(prepared.peerData(), plan.privateData().length)
                    : plan.privateData();
        }

        private MemorySegment outgoing(MemoryRegion region, int message) {
            return region.bytes().asSlice((long) (plan.messages() + message) * plan.size(), plan.size());
        }

        private long data(int message, boolean fromServer) {
            return ((long) number * plan.messages() + message) * 2 + (fromServer ? 1 : 0);
        }

        /** The tail that the network pads private data with says nothing. */
        private void verifyAnswer() {
            byte[] expected = plan.privateData();
            byte[] actual = link().peerData();
            for (int i = 0; i < expected.length; i++) {
                byte found = i < actual.length ? actual[i] : 0;
                if (found != expected[i]) {
                    throw new PayloadMismatchError("private data of the answer", i, expected[i], found);
                }
            }
            verified += expected.length;
        }

        private void send() {
            for (int i = 0; i < plan.messages(); i++) {
                link().queuePair()
                        .postSend(i, buffer(), (long) (plan.messages() + i) * plan.size(), plan.size(), SIGNALED);
            }
        }

        private void awaitSent() {
            link().progress().awaitSends(plan.messages());
        }

        private void receive() {
            Progress progress = link().progress();
            for (int i = 0; i < plan.messages(); i++) {
                progress.awaitReceive("message of the ucmatose peer");
                received++;
                if (progress.wrId() != i) {
                    throw new AssertionError("Receive %d of connection %d at the %s completed before receive %d"
                            .formatted(progress.wrId(), number, side, i));
                }
                if (plan.verify()) {
                    if (progress.byteLength() != plan.size()) {
                        throw new AssertionError("Message %d of connection %d at the %s has %d bytes instead of %d"
                                .formatted(i, number, side, progress.byteLength(), plan.size()));
                    }
                    Payload.verify(
                            buffer().bytes().asSlice((long) i * plan.size(), plan.size()),
                            data(i, side.equals("client")),
                            "connection " + number + " at the " + side);
                    verified += plan.size();
                }
            }
        }

        private void close() {
            RcLink present = link;
            if (present != null) {
                present.close();
            }
        }
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
     * Connects and expects to be refused.
     *
     * @param port where to; 0 to be told by the other side
     * @param privateData what to attach to the request
     * @param timeout how long the refusal may take
     */
    public record RefusedClient(int port, byte[] privateData, Duration timeout)
            implements Role<UnexpectedCmEventException> {

        /**
         * Returns the refusal.
         *
         * @throws AssertionError if the connection came up
         */
        @Override
        public UnexpectedCmEventException run(RoleContext context) {
            int remotePort = port != 0 ? port : Integer.parseInt(context.hear("port of the server", timeout));
            InetSocketAddress target = new InetSocketAddress(context.device().address(), remotePort);
            RcLink.Spec spec = new RcLink.Spec(BringUp.RDMA_CM, 1, 1, 0, 1, false, false, timeout);
            try (RcLink link = RcLink.connect(context, spec, null, target, id -> {}, prepared -> privateData)) {
                throw new AssertionError("The connection to port " + remotePort + " came up, " + link.queuePair());
            } catch (UnexpectedCmEventException refusal) {
                return refusal;
            }
        }
    }

    /** Accepts a connection and then says nothing until it is given up. */
    public record SilentServer(Duration timeout) implements Role<Boolean> {

        @Override
        public Boolean run(RoleContext context) {
            RcLink.Spec spec = new RcLink.Spec(BringUp.RDMA_CM, 1, 1, 0, 1, false, false, timeout);
            try (RcLink.Listener listener = RcLink.Listener.open(context, null, 0, 1)) {
                context.tell(Integer.toString(listener.id().localPort()));
                try (RcLink link = RcLink.accept(
                        context, spec, listener.awaitRequest(timeout), id -> {}, prepared -> new byte[0])) {
                    link.awaitDisconnected();
                    return true;
                } catch (RdmaTimeoutException e) {
                    return false;
                }
            }
        }
    }
}
