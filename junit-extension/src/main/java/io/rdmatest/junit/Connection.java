package io.rdmatest.junit;

import io.rdmatest.Closer;
import io.rdmatest.ConnectionMode;
import io.rdmatest.RdmaException;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.ConnectionParameters;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.verbs.CompletionChannel;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceAttributes;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.Mtu;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpState;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.QueuePairModification;
import io.rdmatest.verbs.RawConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.Optional;
import java.util.WeakHashMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A connected pair of reliable queue pairs on one device, with what belongs to both sides. Ask for it as a parameter, or
 * open it: the two are equal.
 *
 * <p>Both sides use one protection domain, so that any memory region of it serves either side. Closing takes down the
 * connection and releases everything that it made, last first.
 */
public final class Connection implements AutoCloseable {

    /** Either side of a connection. */
    public static final class Endpoint {

        private final String name;
        private final QueuePair queuePair;
        private final CompletionQueue sendQueue;
        private final CompletionQueue receiveQueue;
        private final ProtectionDomain protectionDomain;
        private final @Nullable CmId id;

        Endpoint(
                String name,
                QueuePair queuePair,
                CompletionQueue sendQueue,
                CompletionQueue receiveQueue,
                ProtectionDomain protectionDomain,
                @Nullable CmId id) {
            this.name = name;
            this.queuePair = queuePair;
            this.sendQueue = sendQueue;
            this.receiveQueue = receiveQueue;
            this.protectionDomain = protectionDomain;
            this.id = id;
        }

        /**
         * Get the queue pair, in the state RTS.
         *
         * @return the queue pair; never null
         */
        public QueuePair queuePair() {
            return queuePair;
        }

        /**
         * Get the queue on which sends complete.
         *
         * @return the completion queue; never null
         */
        public CompletionQueue sendQueue() {
            return sendQueue;
        }

        /**
         * Get the queue on which receives complete.
         *
         * @return the completion queue; never null
         */
        public CompletionQueue receiveQueue() {
            return receiveQueue;
        }

        /**
         * Get the protection domain, the same on both sides.
         *
         * @return the protection domain; never null
         */
        public ProtectionDomain protectionDomain() {
            return protectionDomain;
        }

        /**
         * Get the id that rdma_cm connected.
         *
         * @return the id; empty for {@link ConnectionMode#RAW}
         */
        public Optional<CmId> id() {
            return Optional.ofNullable(id);
        }

        /**
         * Name the side.
         *
         * @return {@code client} or {@code server}, and the queue pair
         */
        @Override
        public String toString() {
            return name + " " + queuePair.describe();
        }
    }

    /** Which side queue pairs are, for diagnosis; guarded by itself. */
    private static final Map<QueuePair, String> SIDES = new WeakHashMap<>();

    /** Reads and atomics outstanding either way, as far as the device goes. */
    private static final int MAX_READ_ATOMIC = 16;

    private final ConnectionMode mode;
    private final Closer opened = new Closer();
    private @Nullable Endpoint client;
    private @Nullable Endpoint server;
    private boolean closed;

    private Connection(ConnectionMode mode) {
        this.mode = mode;
    }

    /**
     * Open a connection with the default options.
     *
     * @param device the device of both sides; never null
     * @return the connection; never null
     * @throws RdmaException if the device or rdma_cm refuses
     */
    public static Connection open(FabricDevice device) {
        return open(device, ConnectionOptions.defaults());
    }

    /**
     * Open a connection.
     *
     * @param device the device of both sides; never null
     * @param options what it is like; never null
     * @return the connection; never null
     * @throws IllegalArgumentException if the options name an MTU that the mode or the port can't have
     * @throws RdmaException if the device or rdma_cm refuses
     * @throws io.rdmatest.UnexpectedCmEventException if the set-up takes another course
     * @throws io.rdmatest.RdmaTimeoutException if an event does not come in time
     */
    public static Connection open(FabricDevice device, ConnectionOptions options) {
        options.check();
        Connection connection = new Connection(options.mode());
        try {
            switch (options.mode()) {
                case RDMA_CM -> connection.connectByCm(device, options, false);
                case EXTERNAL_QP -> connection.connectByCm(device, options, true);
                case RAW -> connection.connectRaw(device, options);
            }
            return connection;
        } catch (Throwable e) {
            throw connection.opened.closeAfter(e);
        }
    }

    /**
     * Get the side that asked for the connection.
     *
     * @return the endpoint; never null
     */
    public Endpoint client() {
        return opened(client);
    }

    /**
     * Get the side that accepted it.
     *
     * @return the endpoint; never null
     */
    public Endpoint server() {
        return opened(server);
    }

    private static Endpoint opened(@Nullable Endpoint endpoint) {
        if (endpoint == null) {
            throw new IllegalStateException("the connection is not open");
        }
        return endpoint;
    }

    /**
     * Tell how the connection was brought up.
     *
     * @return the mode; never null
     */
    public ConnectionMode mode() {
        return mode;
    }

    /**
     * Name the side of a connection that a queue pair belongs to.
     *
     * @param queuePair any queue pair
     * @return {@code client} or {@code server}; empty if the queue pair belongs to no connection
     */
    public static String side(QueuePair queuePair) {
        synchronized (SIDES) {
            return SIDES.getOrDefault(queuePair, "");
        }
    }

    private <T extends AutoCloseable> T own(T resource) {
        return opened.own(resource);
    }

    private void connectByCm(FabricDevice device, ConnectionOptions options, boolean external) {
        InetAddress address = device.address();
        EventChannel serverChannel = own(EventChannel.create());
        EventChannel clientChannel = own(EventChannel.create());
        CmId listen = own(serverChannel.createId(PortSpace.TCP));
        listen.bind(new InetSocketAddress(address, 0));
        listen.listen(1);

        CmId clientId = own(clientChannel.createId(PortSpace.TCP));
        setAckTimeout(clientId, options);
        clientId.resolveAddress(address, new InetSocketAddress(address, listen.localPort()), options.timeout());
        clientId.resolveRoute(options.timeout());
        ProtectionDomain domain = options.protectionDomain()
                .orElseGet(() -> own(clientId.context().allocateProtectionDomain()));
        Endpoint clientSide = endpoint("client", domain, options, clientId, creation(domain, clientId, external));
        ConnectionParameters.Builder wanted = parameters(options, domain.context());
        if (external) {
            move(clientSide, QpState.INIT, options);
            wanted.qpNumber(clientSide.queuePair().number());
        }
        clientId.connect(wanted.build());

        CmId serverId = own(serverChannel
                .expect(CmEvent.Type.CONNECT_REQUEST, options.timeout())
                .id());
        setAckTimeout(serverId, options);
        Endpoint serverSide = endpoint("server", domain, options, serverId, creation(domain, serverId, external));
        ConnectionParameters.Builder granted = parameters(options, domain.context());
        if (external) {
            move(serverSide, QpState.INIT, options);
            move(serverSide, QpState.RTR, options);
            move(serverSide, QpState.RTS, options);
            granted.qpNumber(serverSide.queuePair().number());
        }
        serverId.accept(granted.build());

        if (external && !clientId.isConnectedByKernel()) {
            clientId.expectEvent(CmEvent.Type.CONNECT_RESPONSE, options.timeout());
            move(clientSide, QpState.RTR, options);
            move(clientSide, QpState.RTS, options);
            clientId.establish();
        } else {
            clientId.expectEvent(CmEvent.Type.ESTABLISHED, options.timeout());
        }
        serverId.expectEvent(CmEvent.Type.ESTABLISHED, options.timeout());
        client = clientSide;
        server = serverSide;
    }

    private void connectRaw(FabricDevice device, ConnectionOptions options) {
        ProtectionDomain domain = options.protectionDomain()
                .orElseGet(() -> own(own(device.open()).allocateProtectionDomain()));
        Endpoint clientSide = endpoint("client", domain, options, null, domain::createQueuePair);
        Endpoint serverSide = endpoint("server", domain, options, null, domain::createQueuePair);
        RawConnection.connect(
                clientSide.queuePair(),
                serverSide.queuePair(),
                device.gid(),
                rawParameters(options, domain.context().attributes()));
        client = clientSide;
        server = serverSide;
    }

    private static Function<QueuePairAttributes, QueuePair> creation(
            ProtectionDomain domain, CmId id, boolean external) {
        return external ? domain::createQueuePair : attributes -> id.createQueuePair(domain, attributes);
    }

    private Endpoint endpoint(
            String name,
            ProtectionDomain domain,
            ConnectionOptions options,
            @Nullable CmId id,
            Function<QueuePairAttributes, QueuePair> creation) {
        DeviceContext context = domain.context();
        CompletionChannel channel = options.events() ? own(context.createCompletionChannel()) : null;
        CompletionQueue sends = completionQueue(context, options.maxSendWr(), channel);
        CompletionQueue receives = completionQueue(context, options.maxReceiveWr(), channel);
        QueuePair queuePair = own(creation.apply(QueuePairAttributes.builder(QpType.RC)
                .sendQueue(sends)
                .receiveQueue(receives)
                .maxSendWr(options.maxSendWr())
                .maxReceiveWr(options.maxReceiveWr())
                .maxSendSge(options.maxSge())
                .maxReceiveSge(options.maxSge())
                .maxInline(options.maxInline())
                .build()));
        synchronized (SIDES) {
            SIDES.put(queuePair, name);
        }
        return new Endpoint(name, queuePair, sends, receives, domain, id);
    }

    private CompletionQueue completionQueue(DeviceContext context, int entries, @Nullable CompletionChannel channel) {
        return own(
                channel == null
                        ? context.createCompletionQueue(entries)
                        : context.createCompletionQueue(entries, channel));
    }

    private static ConnectionParameters.Builder parameters(ConnectionOptions options, DeviceContext context) {
        DeviceAttributes attributes = context.attributes();
        return ConnectionParameters.builder()
                .responderResources(Math.min(MAX_READ_ATOMIC, attributes.maxQpRdAtom()))
                .initiatorDepth(Math.min(MAX_READ_ATOMIC, attributes.maxQpInitRdAtom()))
                .retryCount(options.retryCount())
                .rnrRetryCount(options.rnrRetryCount());
    }

    private static RawConnection.Parameters rawParameters(ConnectionOptions options, DeviceAttributes attributes) {
        RawConnection.Parameters usual = RawConnection.Parameters.DEFAULT;
        int ackTimeout =
                options.ackTimeout() == ConnectionOptions.USUAL_ACK_TIMEOUT ? usual.timeout() : options.ackTimeout();
        return usual.withMtu(options.mtu())
                .withTimeout(ackTimeout, options.retryCount())
                .withRnr(options.rnrRetryCount(), usual.minRnrTimer())
                .withReadAtomic(
                        Math.min(MAX_READ_ATOMIC, attributes.maxQpInitRdAtom()),
                        Math.min(MAX_READ_ATOMIC, attributes.maxQpRdAtom()));
    }

    private static void setAckTimeout(CmId id, ConnectionOptions options) {
        if (options.ackTimeout() != ConnectionOptions.USUAL_ACK_TIMEOUT) {
            id.setAckTimeout(options.ackTimeout());
        }
    }

    private static void move(Endpoint endpoint, QpState state, ConnectionOptions options) {
        CmId id = endpoint.id().orElseThrow();
        QueuePairModification attributes = id.initQueuePairAttributes(state);
        endpoint.queuePair()
                .modify(
                        state == QpState.RTR && options.mtu() != Mtu.UNKNOWN
                                ? attributes.toBuilder().pathMtu(options.mtu()).build()
                                : attributes);
    }

    /** Take the connection down and release what it made; does nothing the second time. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        if (client != null && client.id != null && !client.id.isClosed()) {
            try {
                client.id.disconnect();
            } catch (RdmaException e) {
                // The other side, or the test, has disconnected before: that is what was wanted.
            }
        }
        opened.close();
    }

    /**
     * Name the connection.
     *
     * @return the mode and both sides
     */
    @Override
    public String toString() {
        return "connection by " + mode + ": " + client + " to " + server;
    }
}
