package io.rdmatest.scenarios.engine;

import io.rdmatest.Cause;
import io.rdmatest.Closer;
import io.rdmatest.ConnectionMode;
import io.rdmatest.Deadline;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.ConnectionParameters;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.connect.RcEndpoint;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.CompletionChannel;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.DriverQuirks;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.MemoryPlacement;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.Mtu;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QueuePair;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One side of a reliable connection with all its resources, which {@link #close} releases in order.
 *
 * <p>A link needs no thread.
 */
public final class RcLink implements AutoCloseable {

    private static final Duration RESOLVE = Duration.ofSeconds(2);

    /**
     * Returns the limit of each step, address and route resolution, for the scenarios that do as the C programs: 2 s, and at most
     * that of any wait. A link itself waits as long as for any other step: the first contact on a busy host takes longer.
     */
    public static Duration resolving(Duration anyWait) {
        return anyWait.compareTo(RESOLVE) < 0 ? anyWait : RESOLVE;
    }

    /** The retry count. Without an end, a lost peer would cause a timeout instead of RETRY_EXC_ERR. */
    static final int RETRIES = DriverQuirks.LARGEST_FINITE_RETRY_COUNT;

    /**
     * The ACK timeout, 4.096 us times 2 to this power: 1.1 s. The seven attempts then end within the default limit of
     * 10 s for a step; with the 2.1 s of rdma_cm for soft-RoCE they would not. The default of 67 ms without rdma_cm is
     * too short: a peer that pauses for half a second would lose its connections.
     */
    static final int ACK_TIMEOUT = 18;

    private static final Duration SLICE = Duration.ofMillis(50);

    /** The parameters of a connection. */
    public record Spec(
            ConnectionMode bringUp,
            int sendDepth,
            int receiveDepth,
            int inline,
            int depth,
            Waiting waiting,
            boolean sharedReceives,
            Duration timeout) {

        /** The capacities of rping(1): 16 sends, 2 receives, one RDMA READ at a time. */
        public static Spec rping(ConnectionMode bringUp, Duration timeout) {
            return new Spec(bringUp, 16, 2, 0, 1, Waiting.POLLING_FIRST, false, timeout);
        }
    }

    /** Registers memory and posts receives before the peer can send; returns the private data for the peer. */
    @FunctionalInterface
    public interface Preparation {
        byte[] prepare(RcLink link);
    }

    private final RoleContext context;
    private final Spec spec;
    private final Closer resources = new Closer();
    private @Nullable CmId id;
    private @Nullable RcEndpoint endpoint;
    private @Nullable Progress progress;
    private byte[] peerData = new byte[0];
    private boolean disconnectedByPeer;

    private long resolveNanos;
    private long routeNanos;
    long connectNanos;
    long disconnectNanos;

    private RcLink(RoleContext context, Spec spec) {
        this.context = context;
        this.spec = spec;
    }

    // ---- establishing ----

    /** A listening id, and the channel on which its requests arrive. */
    public static final class Listener implements AutoCloseable {

        private final RoleContext context;
        private final Closer resources;
        private final CmId id;

        private Listener(RoleContext context, Closer resources, CmId id) {
            this.context = context;
            this.resources = resources;
            this.id = id;
        }

        /**
         * Binds and listens.
         *
         * @param context the context whose device supplies a missing address
         * @param address the address to listen on; null for that of the device
         * @param port the port; 0 for any free port
         * @param backlog how many requests may wait
         * @throws io.rdmatest.RdmaException if the address or the port can't be used
         */
        public static Listener open(RoleContext context, @Nullable InetAddress address, int port, int backlog) {
            Closer resources = new Closer();
            try {
                EventChannel channel = resources.own(EventChannel.create());
                CmId id = resources.own(channel.createId(PortSpace.TCP));
                id.bind(new InetSocketAddress(
                        address != null ? address : context.device().address(), port));
                id.listen(backlog);
                return new Listener(context, resources, id);
            } catch (RuntimeException | Error e) {
                throw resources.closeAfter(e);
            }
        }

        /** Returns the listening id. */
        public CmId id() {
            return id;
        }

        /**
         * Waits for the next request.
         *
         * @throws io.rdmatest.RdmaTimeoutException if none arrives in time
         */
        public CmEvent awaitRequest(Duration timeout) {
            return awaitEvent(context, id, timeout, Cause.PEER_ABSENT, "connection request")
                    .require(CmEvent.Type.CONNECT_REQUEST);
        }

        /** Returns the next request; empty if none arrives in time. */
        public Optional<CmEvent> pollRequest(Duration timeout) {
            try {
                CmEvent event = id.awaitEvent(timeout);
                context.trace(event::toString);
                return Optional.of(event.require(CmEvent.Type.CONNECT_REQUEST));
            } catch (RdmaTimeoutException e) {
                return Optional.empty();
            }
        }

        @Override
        public void close() {
            resources.close();
        }
    }

    /**
     * Waits for the next event of an id, and ends early if the scenario is cancelled.
     *
     * @param context the context of the waiting role
     * @param id the id, which has its own channel
     * @param timeout the longest wait
     * @param silence the cause of a timeout
     * @param what the awaited event, for the message
     * @throws io.rdmatest.RdmaTimeoutException if no event arrives in time
     */
    public static CmEvent awaitEvent(RoleContext context, CmId id, Duration timeout, Cause silence, String what) {
        Deadline deadline = Deadline.after(timeout);
        while (true) {
            context.checkCancelled();
            Duration left = deadline.remaining();
            try {
                CmEvent event = id.awaitEvent(left.compareTo(SLICE) < 0 ? left : SLICE);
                context.trace(event::toString);
                return event;
            } catch (RdmaTimeoutException e) {
                if (deadline.isOver()) {
                    throw new RdmaTimeoutException(silence, what, deadline, "no event on " + id.describe());
                }
            }
        }
    }

    /** Connects by rdma_cm. */
    public static RcLink connect(
            RoleContext context,
            Spec spec,
            @Nullable InetAddress source,
            InetSocketAddress target,
            Preparation preparation) {
        RcLink link = new RcLink(context, spec);
        try {
            EventChannel channel = link.own(EventChannel.create());
            link.id = link.own(channel.createId(PortSpace.TCP));
            link.resolve(source, target);
            link.createResources(link.id().context(), link.id());
            link.request(preparation.prepare(link));
            return link;
        } catch (RuntimeException | Error e) {
            throw link.resources.closeAfter(e);
        }
    }

    private void resolve(@Nullable InetAddress source, InetSocketAddress target) {
        CmId cm = id();
        Duration limit = spec.timeout();
        long start = System.nanoTime();
        cm.resolveAddress(DeviceBinding.source(context, target.getAddress(), source), target, limit);
        long resolved = System.nanoTime();
        resolveNanos = resolved - start;
        context.trace(() -> "address resolved: " + cm.describe());
        DeviceBinding.require(context, cm);
        setAckTimeout(cm);
        resolved = System.nanoTime();
        cm.resolveRoute(limit);
        routeNanos = System.nanoTime() - resolved;
        context.trace(() -> "route resolved: " + cm.describe());
    }

    private void request(byte[] privateData) {
        CmId cm = id();
        ConnectionParameters.Builder parameters = parameters(privateData);
        long connecting = System.nanoTime();
        try {
            endpoint().request(parameters);
        } catch (RdmaException e) {
            throw CmFailures.refusal(e);
        }
        CmEvent answer = awaitEvent(context, cm, spec.timeout(), Cause.PEER_ABSENT, "answer to the connection request");
        endpoint().connected(answer);
        connectNanos = System.nanoTime() - connecting;
        DeviceBinding.require(context, queuePair());
        peerData = answer.privateData();
        watchForDisconnect();
    }

    /** Accepts a request of rdma_cm. The link owns the id of the request from now on. */
    public static RcLink accept(RoleContext context, Spec spec, CmEvent request, Preparation preparation) {
        RcLink link = new RcLink(context, spec);
        try {
            CmId id = link.own(request.id());
            link.id = id;
            link.peerData = request.privateData();
            DeviceBinding.require(context, id);
            link.createResources(id.context(), id);
            byte[] privateData = preparation.prepare(link);
            link.setAckTimeout(id);
            link.endpoint().accept(link.parameters(privateData));
            link.awaitEstablished();
            return link;
        } catch (RuntimeException | Error e) {
            throw link.resources.closeAfter(e);
        }
    }

    private void awaitEstablished() {
        awaitEvent(context, id(), spec.timeout(), Cause.PEER_ABSENT, "ESTABLISHED after accepting")
                .require(CmEvent.Type.ESTABLISHED);
        DeviceBinding.require(context, queuePair());
        watchForDisconnect();
    }

    /**
     * Connects without rdma_cm: both sides call this, and the text channel carries the addresses.
     *
     * @param gid the local entry of the GID table; null for that of the fabric
     */
    public static RcLink raw(RoleContext context, Spec spec, @Nullable GidEntry gid, Preparation preparation) {
        RcLink link = new RcLink(context, spec);
        try {
            DeviceContext device = link.own(context.device().open());
            link.createResources(device, null);
            RawBringUp.connect(
                    context, link, device, gid != null ? gid : context.device().gid(), spec, preparation);
            return link;
        } catch (RuntimeException | Error e) {
            throw link.resources.closeAfter(e);
        }
    }

    private void setAckTimeout(CmId cm) {
        try {
            cm.setAckTimeout(ACK_TIMEOUT);
        } catch (RdmaException e) {
            // An old kernel without this option can still connect.
            context.trace(() -> "the ACK timeout of rdma_cm stays in force: " + e.getMessage());
        }
    }

    private ConnectionParameters.Builder parameters(byte[] privateData) {
        return ConnectionParameters.builder()
                .privateData(privateData)
                .responderResources(spec.depth())
                .initiatorDepth(spec.depth())
                .retryCount(RETRIES)
                .rnrRetryCount(7);
    }

    private void createResources(DeviceContext device, @Nullable CmId cm) {
        RcEndpoint.Plan plan = new RcEndpoint.Plan(
                spec.sendDepth(),
                spec.receiveDepth(),
                1,
                spec.inline(),
                true,
                spec.waiting() != Waiting.POLLING,
                spec.sharedReceives(),
                Mtu.UNKNOWN);
        RcEndpoint made = own(RcEndpoint.open(own(device.allocateProtectionDomain()), cm, spec.bringUp(), plan));
        endpoint = made;
        CompletionChannel channel = made.channel().orElse(null);
        progress = new Progress(
                context, made.receiveQueue(), channel, spec.waiting(), spec.receiveDepth(), spec.timeout());
    }

    private void watchForDisconnect() {
        progress().endsWhen(this::isDisconnected);
    }

    /** Returns whether the peer has ended the connection; always false without rdma_cm. */
    public boolean isDisconnected() {
        if (id != null && !disconnectedByPeer) {
            Optional<CmEvent> event = id().pollEvent();
            if (event.isPresent()) {
                context.trace(event.get()::toString);
                event.get().require(CmEvent.Type.DISCONNECTED);
                disconnectedByPeer = true;
            }
        }
        return disconnectedByPeer;
    }

    // ---- use ----

    CmId id() {
        return present(id, "rdma_cm id");
    }

    /** Returns the protection domain of the queue pair. */
    public ProtectionDomain domain() {
        return endpoint().protectionDomain();
    }

    /** Returns the queue pair of the connection. */
    public QueuePair queuePair() {
        return endpoint().queuePair();
    }

    private RcEndpoint endpoint() {
        return present(endpoint, "queue pair");
    }

    /** Returns the completions of the queue pair. */
    public Progress progress() {
        return present(progress, "completion queue");
    }

    /** Returns the largest message of the port, in bytes. */
    public long largestMessage() {
        CmId cm = id;
        int port = cm != null ? cm.port() : context.device().port();
        return domain().context().port(port).maxMessageSize();
    }

    /** Returns the duration of address resolution in nanoseconds; 0 without rdma_cm, and at the listening side. */
    public long resolveNanos() {
        return resolveNanos;
    }

    /** Returns the duration of route resolution in nanoseconds; 0 without rdma_cm, and at the listening side. */
    public long routeNanos() {
        return routeNanos;
    }

    /** Returns the time from the request to the established connection in nanoseconds; 0 at the listening side. */
    public long connectNanos() {
        return connectNanos;
    }

    /** Returns the private data of the peer; empty if it sent none. */
    public byte[] peerData() {
        return peerData.clone();
    }

    void peerData(byte[] data) {
        peerData = data.clone();
    }

    /** Registers memory of this many bytes, which is deregistered when the link closes. */
    public MemoryRegion register(long size, Access... access) {
        return endpoint().own(domain().registerMemory(size, access));
    }

    /** Registers memory at a placement. It is deregistered when the link closes. */
    MemoryRegion register(long size, MemoryPlacement placement, Access... access) {
        return endpoint().own(domain().registerMemory(size, placement, access));
    }

    /**
     * Posts a receive.
     *
     * @param number the number that {@link Progress#wrId} returns
     * @param region the memory to receive into
     * @param offset the offset in it, in bytes
     * @param length the length of the receive in bytes
     */
    public void postReceive(long number, MemoryRegion region, long offset, int length) {
        endpoint().postReceive(number | Progress.RECEIVE, region, offset, length);
    }

    /** Disconnects and waits until the peer has disconnected, too. */
    public void disconnect() {
        long start = System.nanoTime();
        if (id == null) {
            RawBringUp.part(context, spec.timeout());
        } else {
            leave();
            awaitDisconnected();
        }
        disconnectNanos = System.nanoTime() - start;
    }

    /** Disconnects without waiting for the peer. */
    public void leave() {
        CmId cm = id;
        if (cm == null) {
            return;
        }
        if (spec.bringUp() == ConnectionMode.EXTERNAL_QP) {
            queuePair().toError();
        }
        cm.disconnect();
    }

    /** Waits until the peer disconnects, and disconnects, too. */
    public void awaitDisconnect() {
        if (id == null) {
            RawBringUp.part(context, spec.timeout());
            return;
        }
        awaitDisconnected();
        leave();
    }

    /** Waits until the peer has disconnected; returns at once without rdma_cm. */
    public void awaitDisconnected() {
        if (id != null && !disconnectedByPeer) {
            awaitEvent(context, id(), spec.timeout(), Cause.TIMEOUT, "DISCONNECTED")
                    .require(CmEvent.Type.DISCONNECTED);
            disconnectedByPeer = true;
        }
    }

    <T extends AutoCloseable> T own(T resource) {
        return resources.own(resource);
    }

    private static <T> T present(@Nullable T value, String what) {
        if (value == null) {
            throw new IllegalStateException("This connection has no " + what);
        }
        return value;
    }

    @Override
    public void close() {
        resources.close();
    }
}
