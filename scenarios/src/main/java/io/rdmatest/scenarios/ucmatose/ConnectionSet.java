package io.rdmatest.scenarios.ucmatose;

import io.rdmatest.Cause;
import io.rdmatest.ConnectionMode;
import io.rdmatest.Deadline;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.cm.AddressInfo;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.ConnectionParameters;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PathRecord;
import io.rdmatest.connect.RcEndpoint;
import io.rdmatest.scenarios.engine.CmFailures;
import io.rdmatest.scenarios.engine.ConnectionResult.Times;
import io.rdmatest.scenarios.engine.DeviceBinding;
import io.rdmatest.scenarios.engine.LinkSet;
import io.rdmatest.scenarios.engine.Payload;
import io.rdmatest.scenarios.engine.RcLink;
import io.rdmatest.scenarios.options.AddressTexts;
import io.rdmatest.scenarios.role.PeerPlan;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.verbs.AddressHandleAttributes;
import io.rdmatest.verbs.Completions;
import io.rdmatest.verbs.DriverQuirks;
import io.rdmatest.verbs.LinkLayer;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePairModification;
import io.rdmatest.verbs.WorkCompletion;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One side's reliable connections, thousands of them on one thread: they are established, used and closed all at once.
 *
 * <p>Every connection is a small state machine that the events of one channel drive. At most {@link #IN_FLIGHT} of them are
 * between their first step and ESTABLISHED, or between disconnect and DISCONNECTED, so that neither the listener's backlog
 * (1024 unless net.rdma_ucm.max_backlog says otherwise) nor the receive queue of the management datagrams overflows. Nothing
 * is tried again here.
 */
final class ConnectionSet extends LinkSet<UcmatoseOptions, ConnectionSet.Connection> {

    /**
     * How many connections are being established, or closed, at the same time. Each has one management datagram under way, and
     * the kernel posts 512 receives for those of a port, on which both ends may be. With half as many the processors now and then
     * wait.
     */
    static final int IN_FLIGHT = 256;

    /**
     * Messages whose acknowledgement may be missing when the peer disconnects: it has received them, and its queue pair is
     * gone before its last acknowledgements left.
     */
    private static final int UNACKNOWLEDGED = 16;

    private static final Duration SLICE = Duration.ofMillis(50);

    /** The paths of so many connections are reported. */
    private static final int MOST_PATHS = 8;

    private final Map<CmId, Connection> byId = new IdentityHashMap<>();
    private final List<UcmatoseRoles.Attributes> attributes = new ArrayList<>();
    private final Set<String> paths = new LinkedHashSet<>();

    private int pathsRead;
    private @Nullable EventChannel channel;
    private @Nullable CmId listener;
    private int established;
    private int disconnected;
    private long firstRequest;
    private boolean progress;
    private boolean parting;

    /** One connection. */
    static final class Connection extends LinkSet.Link {

        private final CmId id;
        private @Nullable RcEndpoint endpoint;
        private long since = System.nanoTime();
        private long disconnect;
        private int peerSize = -1;

        private Connection(int index, CmId id) {
            super(index);
            this.id = id;
        }

        private RcEndpoint endpoint() {
            return present(endpoint);
        }

        private long lap() {
            long now = System.nanoTime();
            long taken = now - since;
            since = now;
            return taken;
        }
    }

    ConnectionSet(RoleContext context, UcmatoseOptions options, boolean server) {
        super(context, options, server, PeerPlan.Program.UCMATOSE, QpType.RC, "connections");
    }

    private Connection add(CmId id) {
        Connection connection = new Connection(links.size(), id);
        links.add(connection);
        byId.put(id, connection);
        return connection;
    }

    // ---- establishing, at the server ----

    /** Binds and listens, and tells the port if it was left open. */
    void listen() {
        CmId id = listen(openChannel());
        listener = id;
        if (options.port() == 0) {
            context.tell(Integer.toString(id.localPort()));
        }
    }

    /** Waits until every connection is established; returns when the first request came. */
    long awaitConnections() {
        awaitEvents(Cause.PEER_ABSENT, "connection request", () -> !links.isEmpty(), options.firstWait());
        awaitEvents(
                Cause.PEER_ABSENT,
                "ESTABLISHED after accepting",
                () -> established == options.connections(),
                options.timeout());
        return firstRequest;
    }

    private void request(CmEvent event) {
        if (links.size() == options.connections()) {
            rejectSurplus(event);
            return;
        }
        Optional<PeerPlan> plan = agree(event);
        CmId id = resources.own(event.id());
        Connection connection = add(id);
        if (connection.index == 0) {
            firstRequest = connection.since;
        }
        InetSocketAddress remote = id.remoteAddress();
        peer = remote.getAddress().getHostAddress() + " port " + remote.getPort();
        DeviceBinding.require(context, id);
        if (options.ackTimeoutExponent() != null) {
            id.setAckTimeout(options.ackTimeoutExponent());
        }
        createQueuePair(connection);
        know(connection, plan);
        ConnectionParameters.Builder parameters = ConnectionParameters.builder()
                .privateData(plan.isPresent() ? plan(connection.number).encode() : new byte[0]);
        connection.endpoint().accept(parameters);
    }

    // ---- establishing, at the client ----

    /** Connects all. */
    void connect() {
        EventChannel events = openChannel();
        AddressInfo target = lookUp();
        try {
            awaitEvents(
                    Cause.PEER_ABSENT,
                    "answer to the connection request",
                    () -> {
                        while (links.size() < options.connections() && links.size() - established < IN_FLIGHT) {
                            start(events, target);
                        }
                        return established == options.connections();
                    },
                    options.timeout());
        } catch (RdmaTimeoutException e) {
            if (established == 0) {
                throw e;
            }
            // The C program looks at no more requests once it has its own number of connections.
            throw new ScenarioException(
                    Cause.REJECTED,
                    "%s took %d of %d connections and does not answer the others: %s"
                            .formatted(peer, established, options.connections(), SAME_COUNTS),
                    e);
        }
    }

    private void start(EventChannel events, AddressInfo target) {
        CmId id = resources.own(events.createId(options.portSpace()));
        Connection connection = add(id);
        try {
            id.startResolveAddress(target, RcLink.resolving(options.timeout()));
        } catch (RdmaException e) {
            if (connection.index > 0 && e.errnoName().equals("EADDRNOTAVAIL")) {
                throw new ScenarioException(
                        Cause.HOST_NOT_READY,
                        ("%d of %d connections have a local port, and there is none left for the next: widen"
                                        + " net.ipv4.ip_local_port_range, or give a smaller -c")
                                .formatted(connection.index, options.connections()),
                        e);
            }
            throw ofAddress(e, options.serverAddress(), peer);
        }
    }

    private void addressResolved(Connection connection) {
        connection.resolve = connection.lap();
        CmId id = connection.id;
        if (isNative() && linkLayer(id) != LinkLayer.INFINIBAND) {
            throw AddressTexts.unsupported(peer, null);
        }
        DeviceBinding.require(context, id);
        if (options.typeOfService() != null) {
            id.setTypeOfService(options.typeOfService());
        }
        if (options.ackTimeoutExponent() != null) {
            id.setAckTimeout(options.ackTimeoutExponent());
        }
        try {
            id.startResolveRoute(RcLink.resolving(options.timeout()));
        } catch (RdmaException e) {
            throw ofAddress(e, options.serverAddress(), peer);
        }
    }

    private void routeResolved(Connection connection) {
        connection.route = connection.lap();
        if (pathsRead < MOST_PATHS) {
            // Of the first connections only: it asks the kernel for the port, in the time that is measured.
            pathsRead++;
            connection.id.paths().stream().map(PathRecord::toString).forEach(paths::add);
        }
        createQueuePair(connection);
        // As the C program, but for the plan and for the RNR retries:
        // the peer's receives are all posted before it answers.
        ConnectionParameters.Builder parameters = ConnectionParameters.builder()
                .privateData(plan(connection.number).encode())
                .responderResources(1)
                .initiatorDepth(1)
                .retryCount(5)
                .rnrRetryCount(0);
        connection.since = System.nanoTime();
        try {
            connection.endpoint().request(parameters);
        } catch (RdmaException e) {
            throw CmFailures.ofConnect(e, peer);
        }
    }

    private void answered(Connection connection, CmEvent event) {
        know(connection, PeerPlan.decode(event.privateData()));
        connection.endpoint().connected(event);
        up(connection);
    }

    // ---- establishing, at both sides ----

    private EventChannel openChannel() {
        EventChannel opened = resources.own(EventChannel.create());
        channel = opened;
        return opened;
    }

    private EventChannel channel() {
        EventChannel present = channel;
        if (present == null) {
            throw new IllegalStateException("There is no event channel");
        }
        return present;
    }

    private void createQueuePair(Connection connection) {
        CmId id = connection.id;
        attach(connection, id.context(), (pool, wanted) -> {
            RcEndpoint endpoint = pool.made(RcEndpoint.open(pool.domain(), id, options.bringUp(), wanted));
            connection.endpoint = endpoint;
            return endpoint.queuePair();
        });
    }

    private void up(Connection connection) {
        connection.connect = connection.lap();
        if (options.typeOfService() != null || options.ackTimeoutExponent() != null) {
            QueuePairModification queried = connection.queuePair().query();
            AddressHandleAttributes vector = queried.addressVector();
            attributes.add(
                    new UcmatoseRoles.Attributes(vector == null ? -1 : vector.trafficClass(), queried.timeout()));
        }
        DeviceBinding.require(context, connection.queuePair());
        established++;
    }

    // ---- events ----

    private void handle(CmEvent event) {
        progress = true;
        context.trace(event::toString);
        if (event.type() == CmEvent.Type.CONNECT_REQUEST) {
            request(event);
            return;
        }
        Connection connection = byId.get(event.id());
        if (connection == null) {
            if (event.type() == CmEvent.Type.DEVICE_REMOVAL) {
                throw CmFailures.of(event, CmEvent.Type.CONNECT_REQUEST, peer, SAME_COUNTS);
            }
            return;
        }
        switch (event.type()) {
            case ADDR_RESOLVED -> addressResolved(connection);
            case ROUTE_RESOLVED -> routeResolved(connection);
            case CONNECT_RESPONSE -> answered(connection, event);
            case ESTABLISHED -> {
                if (server) {
                    up(connection);
                } else {
                    answered(connection, event);
                }
            }
            case DISCONNECTED -> disconnected(connection, event);
            case TIMEWAIT_EXIT, ADDR_CHANGE -> {}
            case CONNECT_ERROR -> {
                awaitRefusal();
                throw failed(connection, event);
            }
            default -> throw failed(connection, event);
        }
    }

    private RuntimeException failed(Connection connection, CmEvent event) {
        return refused(
                event,
                server ? CmEvent.Type.ESTABLISHED : CmEvent.Type.CONNECT_RESPONSE,
                "connection " + (connection.index + 1) + " of " + options.connections() + "; " + SAME_COUNTS);
    }

    private void disconnected(Connection connection, CmEvent event) {
        if (connection.gone) {
            return;
        }
        connection.gone = true;
        disconnected++;
        if (parting && server) {
            connection.disconnect = connection.lap();
            return;
        }
        // What arrived before the end still counts.
        while (pollCompletions()) {
            // until nothing more comes
        }
        boolean done = !server
                && connection.received == messages
                && connection.posted == messages
                && messages - connection.sent <= Math.min(UNACKNOWLEDGED, messages / 2);
        if (!done) {
            awaitRefusal();
            throw new ScenarioException(
                    Cause.PEER_LOST,
                    "%s ended connection %d in mid-transfer, after %d of %d messages were received and %d sent: look at the other side, and %s"
                            .formatted(
                                    peer,
                                    connection.index,
                                    connection.received,
                                    messages,
                                    connection.sent,
                                    SAME_COUNTS),
                    CmFailures.of(event, CmEvent.Type.ESTABLISHED, peer, SAME_COUNTS));
        }
        lost += messages - connection.sent;
        if (!parting) {
            leave(connection);
        }
    }

    /**
     * A server that takes fewer connections rejects one and ends the others, and the end may overtake the rejection. So a
     * rejection is awaited as long as any answer may take.
     */
    private void awaitRefusal() {
        if (server || established == options.connections()) {
            return;
        }
        Deadline deadline = Deadline.after(options.timeout());
        while (!deadline.isOver()) {
            context.checkCancelled();
            try {
                CmEvent event = channel().await(SLICE);
                Connection connection = byId.get(event.id());
                if (event.type() == CmEvent.Type.REJECTED && connection != null) {
                    throw failed(connection, event);
                }
            } catch (RdmaTimeoutException e) {
                // Nothing yet.
            }
        }
    }

    private void leave(Connection connection) {
        connection.since = System.nanoTime();
        if (options.bringUp() == ConnectionMode.EXTERNAL_QP) {
            connection.queuePair().toError();
        }
        connection.id.disconnect();
    }

    @Override
    protected boolean takeEvents() {
        boolean any = false;
        if (channel != null) {
            for (Optional<CmEvent> event = channel().poll();
                    event.isPresent();
                    event = channel().poll()) {
                handle(event.get());
                any = true;
            }
        }
        return any;
    }

    /**
     * Handles events until something is so.
     *
     * @param silence what it means that nothing comes
     * @param limit how long without any event
     */
    private void awaitEvents(Cause silence, String what, BooleanSupplier done, Duration limit) {
        long deadline = Deadline.end(limit);
        while (true) {
            if (done.getAsBoolean()) {
                return;
            }
            if (progress) {
                progress = false;
                deadline = Deadline.end(limit);
            }
            context.checkCancelled();
            try {
                handle(channel().await(SLICE));
            } catch (RdmaTimeoutException e) {
                if (Deadline.isOver(deadline)) {
                    throw new RdmaTimeoutException(silence, what, Deadline.of(deadline, limit), progress());
                }
            }
        }
    }

    private String progress() {
        return "%d of %d connections established, %d messages received, %d sent"
                .formatted(established, options.connections(), messagesReceived(), messagesSent());
    }

    // ---- messages ----

    @Override
    protected void post(Connection connection, int first, int count) {
        connection.pool().postSends(connection.queuePair(), connection.index, first, count);
    }

    @Override
    protected int examine(Connection connection, int slot, Completions completions, int index) {
        if (slot != connection.received) {
            throw new AssertionError("Receive %d of %s completed before receive %d"
                    .formatted(slot, connection.where, connection.received));
        }
        int length = completions.byteLength(index);
        // One of ours sends what it said; the C program messages of one size, which may be smaller than this side's.
        if (connection.peerSize < 0) {
            connection.peerSize = connection.verified ? size : length;
        }
        if (length != connection.peerSize || length == 0) {
            throw new AssertionError("Message %d of %s has %d bytes instead of %d"
                    .formatted(slot, connection.where, length, connection.peerSize));
        }
        return length;
    }

    @Override
    protected void verify(Connection connection, int slot) {
        Payload.verify(
                connection.pool().received(connection.index, slot), expected(connection, slot), slot, connection.where);
    }

    @Override
    protected RuntimeException failed(Connection connection, Completions completions, int index, boolean send) {
        RuntimeException cause = completions.get(index).exception();
        String on = "on connection " + connection.index + " with " + peer;
        WorkCompletion.Status status = completions.status(index);
        String driver = connection.queuePair().protectionDomain().context().driver();
        if (DriverQuirks.isPeersReceiveTooShort(driver, status)) {
            return new ScenarioException(
                    Cause.SIZE_REFUSED,
                    "The peer takes no message of %d bytes %s: start both sides with the same -S".formatted(size, on),
                    cause);
        }
        if (!send && DriverQuirks.isMessageTooLong(driver, status)) {
            return tooLong(on, cause);
        }
        return switch (status) {
            case LOC_LEN_ERR -> tooLong(on, cause);
            case RNR_RETRY_EXC_ERR ->
                new ScenarioException(
                        Cause.REJECTED,
                        "The peer expects fewer than %d messages %s: start both sides with the same -C"
                                .formatted(messages, on),
                        cause);
            case RETRY_EXC_ERR ->
                new ScenarioException(
                        Cause.PEER_LOST,
                        "The peer stopped acknowledging %s, after %d of %d messages"
                                .formatted(on, connection.sent, messages),
                        cause);
            default -> cause;
        };
    }

    @Override
    protected String state() {
        return progress() + "; look at the other side, and " + SAME_COUNTS;
    }

    @Override
    protected RuntimeException silence(RdmaTimeoutException timeout) {
        return messagesReceived() == 0 && messagesSent() == 0
                ? timeout
                : new ScenarioException(Cause.PEER_LOST, peer + ": " + timeout.getMessage(), timeout);
    }

    // ---- the end ----

    /** Moves every id, and the listener, to another channel. */
    void migrate() {
        // The ids must be closed before it.
        EventChannel other = resources.ownLongest(EventChannel.create());
        EventChannel before = channel();
        boolean ignored = takeEvents();
        if (listener != null) {
            listener.migrate(other);
        }
        for (Connection connection : links) {
            connection.id.migrate(other);
        }
        channel = other;
        if (!before.ids().isEmpty()) {
            throw new AssertionError("After migration " + before.ids() + " are still on " + before.describe());
        }
    }

    /** Ends all connections from this side and waits until the peer has followed. */
    void disconnect() {
        boolean ignored = takeEvents();
        parting = true;
        int[] left = {0};
        awaitParting(() -> {
            while (left[0] < links.size() && left[0] - disconnected < IN_FLIGHT) {
                leave(links.get(left[0]++));
            }
            return disconnected == links.size();
        });
    }

    /** Waits until the peer has ended all connections, and follows. */
    void awaitDisconnect() {
        awaitParting(() -> disconnected == links.size());
    }

    private void awaitParting(BooleanSupplier done) {
        try {
            awaitEvents(Cause.PEER_LOST, "DISCONNECTED", done, options.timeout());
        } catch (RdmaTimeoutException e) {
            throw new ScenarioException(
                    Cause.PEER_LOST,
                    "%s did not disconnect: %d of %d connections were disconnected when %d ms had passed without an event; %s"
                            .formatted(
                                    peer,
                                    disconnected,
                                    links.size(),
                                    options.timeout().toMillis(),
                                    SAME_COUNTS),
                    e);
        }
    }

    // ---- results ----

    UcmatoseRoles.Result result(long setUp, long transfer) {
        return new UcmatoseRoles.Result(
                links.stream()
                        .map(each -> new Times(each.resolve, each.route, each.connect, each.disconnect))
                        .toList(),
                messagesReceived(),
                messagesSent(),
                bytesReceived(),
                bytesVerified(),
                unverified(),
                attributes,
                List.copyOf(paths),
                surplus,
                setUp,
                transfer,
                0);
    }
}
