package io.rdmatest.junit;

import io.rdmatest.Closer;
import io.rdmatest.ConnectionMode;
import io.rdmatest.RdmaException;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.ConnectionParameters;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.connect.RcEndpoint;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.verbs.DeviceAttributes;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.RawConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.WeakHashMap;
import org.jspecify.annotations.Nullable;

/**
 * A connected pair of reliable queue pairs on one device, with what belongs to both sides. Ask for it as a parameter, or
 * open it: the two are equal.
 *
 * <p>Both sides use one protection domain, so that any memory region of it serves either side. Closing takes down the
 * connection and releases everything that it made, last first.
 */
public final class Connection implements AutoCloseable {

    /** Which side queue pairs are, for diagnosis; guarded by itself. */
    private static final Map<QueuePair, String> SIDES = new WeakHashMap<>();

    /** Reads and atomics outstanding either way, as far as the device goes. */
    private static final int MAX_READ_ATOMIC = 16;

    private final ConnectionMode mode;
    private final Closer opened = new Closer();
    private @Nullable RcEndpoint client;
    private @Nullable RcEndpoint server;
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
                case RDMA_CM, EXTERNAL_QP -> connection.connectByCm(device, options);
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
    public RcEndpoint client() {
        return opened(client);
    }

    /**
     * Get the side that accepted it.
     *
     * @return the endpoint; never null
     */
    public RcEndpoint server() {
        return opened(server);
    }

    private static RcEndpoint opened(@Nullable RcEndpoint endpoint) {
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

    private void connectByCm(FabricDevice device, ConnectionOptions options) {
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
        RcEndpoint clientSide = endpoint("client", domain, clientId, options);
        clientSide.request(parameters(options, domain.context()));

        CmId serverId = own(serverChannel
                .expect(CmEvent.Type.CONNECT_REQUEST, options.timeout())
                .id());
        setAckTimeout(serverId, options);
        RcEndpoint serverSide = endpoint("server", domain, serverId, options);
        serverSide.accept(parameters(options, domain.context()));

        boolean responds = mode == ConnectionMode.EXTERNAL_QP && !clientId.isConnectedByKernel();
        clientSide.connected(clientId.expectEvent(
                responds ? CmEvent.Type.CONNECT_RESPONSE : CmEvent.Type.ESTABLISHED, options.timeout()));
        serverId.expectEvent(CmEvent.Type.ESTABLISHED, options.timeout());
        client = clientSide;
        server = serverSide;
    }

    private void connectRaw(FabricDevice device, ConnectionOptions options) {
        ProtectionDomain domain = options.protectionDomain()
                .orElseGet(() -> own(own(device.open()).allocateProtectionDomain()));
        RcEndpoint clientSide = endpoint("client", domain, null, options);
        RcEndpoint serverSide = endpoint("server", domain, null, options);
        RawConnection.connect(
                clientSide.queuePair(),
                serverSide.queuePair(),
                device.gid(),
                rawParameters(options, domain.context().attributes()));
        client = clientSide;
        server = serverSide;
    }

    private RcEndpoint endpoint(String name, ProtectionDomain domain, @Nullable CmId id, ConnectionOptions options) {
        RcEndpoint.Plan plan = new RcEndpoint.Plan(
                options.maxSendWr(),
                options.maxReceiveWr(),
                options.maxSge(),
                options.maxInline(),
                false,
                options.events(),
                false,
                options.mtu());
        RcEndpoint endpoint = own(RcEndpoint.open(domain, id, mode, plan));
        synchronized (SIDES) {
            SIDES.put(endpoint.queuePair(), name);
        }
        return endpoint;
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

    /** Take the connection down and release what it made; does nothing the second time. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        CmId asking = client == null ? null : client.id().orElse(null);
        if (asking != null && !asking.isClosed()) {
            try {
                asking.disconnect();
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
        return "connection by " + mode + ": client " + client + " to server " + server;
    }
}
