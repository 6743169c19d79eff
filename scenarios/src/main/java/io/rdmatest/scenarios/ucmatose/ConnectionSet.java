package io.rdmatest.scenarios.ucmatose;

import io.rdmatest.Cause;
import io.rdmatest.ConnectionMode;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.cm.AddressInfo;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.ConnectionParameters;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PathRecord;
import io.rdmatest.scenarios.engine.AddressTexts;
import io.rdmatest.scenarios.engine.Closing;
import io.rdmatest.scenarios.engine.CmFailures;
import io.rdmatest.scenarios.engine.ConnectionPool;
import io.rdmatest.scenarios.engine.DeviceBinding;
import io.rdmatest.scenarios.engine.Payload;
import io.rdmatest.scenarios.engine.PeerPlan;
import io.rdmatest.scenarios.engine.RawBringUp;
import io.rdmatest.scenarios.engine.RcLink;
import io.rdmatest.scenarios.engine.RoleContext;
import io.rdmatest.scenarios.engine.ScenarioException;
import io.rdmatest.scenarios.engine.ScenarioException.Reason;
import io.rdmatest.scenarios.engine.Waits;
import io.rdmatest.verbs.AddressHandleAttributes;
import io.rdmatest.verbs.Completions;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.DriverQuirks;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.LinkLayer;
import io.rdmatest.verbs.QpState;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairModification;
import io.rdmatest.verbs.RawAddress;
import io.rdmatest.verbs.RawConnection;
import io.rdmatest.verbs.WorkCompletion;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HexFormat;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One side's reliable connections, thousands of them on one thread: they come up, work and go all at once.
 *
 * <p>Every connection is a small state machine that the events of one channel drive. At most {@link #IN_FLIGHT} of them are
 * between their first step and ESTABLISHED, or between disconnect and DISCONNECTED, so that neither the listener's backlog
 * (1024 unless net.rdma_ucm.max_backlog says otherwise) nor the receive queue of the management datagrams overflows. Nothing
 * is tried again here.
 */
final class ConnectionSet implements AutoCloseable {

    /**
     * How many connections come up, or go, at the same time. Each has one management datagram under way, and the kernel posts
     * 512 receives for those of a port, on which both ends may be. With half as many the processors now and then wait.
     */
    static final int IN_FLIGHT = 256;

    /**
     * Messages whose acknowledgement may be missing when the peer disconnects: it has received them, and its queue pair is
     * gone before its last acknowledgements left.
     */
    private static final int UNACKNOWLEDGED = 16;

    private static final Duration SLICE = Duration.ofMillis(50);

    /** How long a rejection may come after the end of the connections that were accepted. */
    private static final Duration REFUSAL = Duration.ofSeconds(1);

    private static final int SPINS = 32;
    private static final int LOOK = 256;
    /** The paths of so many connections are reported. */
    private static final int MOST_PATHS = 8;

    private static final String SAME_COUNTS = "start both sides with the same -c, -C and -S";

    private final RoleContext context;
    private final UcmatoseOptions options;
    private final boolean server;
    private final int messages;
    private final int size;
    private final List<Connection> connections = new ArrayList<>();
    private final Map<CmId, Connection> byId = new IdentityHashMap<>();
    private final Map<DeviceContext, ConnectionPool> pools = new IdentityHashMap<>();
    private final List<UcmatoseRoles.Attributes> attributes = new ArrayList<>();
    private final Set<String> paths = new LinkedHashSet<>();

    private int pathsRead;
    private final Deque<AutoCloseable> last = new ArrayDeque<>();
    private @Nullable EventChannel channel;
    private @Nullable CmId listener;
    private String peer = "the peer";
    private int established;
    private int disconnected;
    private int lost;
    private int surplus;
    private long messagesReceived;
    private long messagesSent;
    private long bytesReceived;
    private long bytesVerified;
    private long firstRequest;
    private boolean progress;
    private boolean parting;

    /** One connection. */
    private static final class Connection {

        private final int index;
        /** The client's number of it, from which the payload is computed. */
        private int number;

        private @Nullable CmId id;
        private @Nullable QueuePair queuePair;
        private @Nullable ConnectionPool pool;
        private long since;
        private long resolve;
        private long route;
        private long connect;
        private long disconnect;
        private boolean up;
        private boolean gone;
        private boolean verified;
        private int received;
        private int posted;
        private int sent;
        private int peerSize = -1;
        private String where = "";

        private Connection(int index) {
            this.index = index;
            this.number = index;
        }

        private CmId id() {
            return present(id);
        }

        private QueuePair queuePair() {
            return present(queuePair);
        }

        private ConnectionPool pool() {
            return present(pool);
        }

        private <T> T present(@Nullable T value) {
            if (value == null) {
                throw new IllegalStateException("Connection " + index + " is not that far yet");
            }
            return value;
        }

        private long lap() {
            long now = System.nanoTime();
            long taken = now - since;
            since = now;
            return taken;
        }
    }

    ConnectionSet(RoleContext context, UcmatoseOptions options, boolean server) {
        this.context = context;
        this.options = options;
        this.server = server;
        this.messages = options.hasMessages() ? options.messages() : 0;
        this.size = options.hasMessages() ? options.sizeBytes() : 0;
    }

    // ---- the server's side of coming up ----

    /** Binds and listens, and tells the port if it was left open. */
    void listen() {
        EventChannel events = openChannel();
        CmId id = events.createId(options.portSpace());
        last.push(id);
        listener = id;
        String bind = options.bindAddress();
        String where = (bind == null ? "the device's address" : bind) + " port " + options.port();
        try {
            if (bind == null) {
                id.bind(new InetSocketAddress(context.device().address(), options.port()));
            } else {
                id.bind(AddressTexts.passive(
                        options.addressFormat(), options.portSpace(), bind, options.port(), options.timeout()));
            }
            // As the C program: 0 leaves the backlog to the kernel, which takes its maximum.
            id.listen(0);
        } catch (RdmaException e) {
            throw ofAddress(e, bind, where);
        }
        if (options.port() == 0) {
            context.tell(Integer.toString(id.localPort()));
        }
    }

    /** Waits until every connection stands; returns when the first request came. */
    long awaitConnections() {
        awaitEvents(
                Cause.PEER_ABSENT, "connection request", () -> !connections.isEmpty(), options.firstClientTimeout());
        awaitEvents(
                Cause.PEER_ABSENT,
                "ESTABLISHED after accepting",
                () -> established == options.connections(),
                options.timeout());
        return firstRequest;
    }

    private void request(CmEvent event) {
        CmId id = event.id();
        if (connections.size() == options.connections()) {
            surplus++;
            refuse(id);
            return;
        }
        Connection connection = new Connection(connections.size());
        Optional<PeerPlan> plan = PeerPlan.decode(event.privateData());
        if (plan.isPresent()) {
            Optional<ScenarioException> disagreement = own(connection).disagreement(plan.get());
            if (disagreement.isPresent()) {
                refuse(id);
                throw disagreement.get();
            }
            connection.number = plan.get().number();
        }
        connections.add(connection);
        connection.id = id;
        byId.put(id, connection);
        last.push(id);
        connection.since = System.nanoTime();
        if (connection.index == 0) {
            firstRequest = connection.since;
        }
        peer = text(id.remoteAddress());
        DeviceBinding.require(context, id);
        if (options.ackTimeoutExponent() != null) {
            id.setAckTimeout(options.ackTimeoutExponent());
        }
        createQueuePair(connection);
        know(connection, plan);
        ConnectionParameters.Builder parameters = ConnectionParameters.builder()
                .privateData(plan.isPresent() ? own(connection).encode() : new byte[0]);
        if (options.bringUp() == ConnectionMode.EXTERNAL_QP) {
            moveExternal(connection);
            parameters.qpNumber(connection.queuePair().number());
        }
        id.accept(parameters.build());
    }

    /** Says no, and to one of ours why. */
    private void refuse(CmId id) {
        try (id) {
            id.reject(plan(-1).encode());
        }
    }

    // ---- the client's side of coming up ----

    /** Connects all. */
    void connect() {
        String host = options.serverAddress();
        int port = options.port() != 0
                ? options.port()
                : Integer.parseInt(context.hear("port of the ucmatose server", options.timeout()));
        EventChannel events = openChannel();
        String address = host != null ? host : context.peerAddress().getHostAddress();
        String source = DeviceBinding.source(context, options.addressFormat(), address, options.bindAddress());
        AddressInfo target = AddressTexts.active(
                options.addressFormat(), options.portSpace(), address, port, source, options.timeout());
        peer = address + " port " + port;
        try {
            awaitEvents(
                    Cause.PEER_ABSENT,
                    "answer to the connection request",
                    () -> {
                        while (connections.size() < options.connections()
                                && connections.size() - established < IN_FLIGHT) {
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
                    Reason.REJECTED,
                    "%s took %d of %d connections and does not answer the others: %s"
                            .formatted(peer, established, options.connections(), SAME_COUNTS),
                    e);
        }
    }

    private void start(EventChannel events, AddressInfo target) {
        Connection connection = new Connection(connections.size());
        connections.add(connection);
        CmId id = events.createId(options.portSpace());
        last.push(id);
        connection.id = id;
        byId.put(id, connection);
        connection.since = System.nanoTime();
        try {
            id.startResolveAddress(target, RcLink.resolving(options.timeout()));
        } catch (RdmaException e) {
            if (connection.index > 0 && e.errnoName().equals("EADDRNOTAVAIL")) {
                throw new ScenarioException(
                        Reason.HOST_NOT_READY,
                        ("%d of %d connections have a local port, and there is none left for the next: widen"
                                        + " net.ipv4.ip_local_port_range, or give a smaller -c")
                                .formatted(connection.index, options.connections()),
                        e);
            }
            throw ofAddress(e, options.serverAddress(), peer);
        }
    }

    private RuntimeException ofAddress(RdmaException failure, @Nullable String address, String where) {
        return isNative() && address != null
                ? AddressTexts.unsupported(address, failure)
                : CmFailures.ofAddress(failure, where);
    }

    private boolean isNative() {
        return options.addressFormat() == AddressInfo.Format.GID;
    }

    private void addressResolved(Connection connection) {
        connection.resolve = connection.lap();
        CmId id = connection.id();
        if (isNative() && id.context().port(id.port()).linkLayer() != LinkLayer.INFINIBAND) {
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
            connection.id().paths().stream().map(PathRecord::toString).forEach(paths::add);
        }
        createQueuePair(connection);
        // As the C program, but for the plan and for the RNR retries:
        // the peer's receives are all posted before it answers.
        ConnectionParameters.Builder parameters = ConnectionParameters.builder()
                .privateData(own(connection).encode())
                .responderResources(1)
                .initiatorDepth(1)
                .retryCount(5)
                .rnrRetryCount(0);
        if (options.bringUp() == ConnectionMode.EXTERNAL_QP) {
            parameters.qpNumber(connection.queuePair().number());
        }
        connection.since = System.nanoTime();
        try {
            connection.id().connect(parameters.build());
        } catch (RdmaException e) {
            throw CmFailures.ofConnect(e, peer);
        }
    }

    private void answered(Connection connection, CmEvent event) {
        know(connection, PeerPlan.decode(event.privateData()));
        if (event.type() == CmEvent.Type.CONNECT_RESPONSE) {
            moveExternal(connection);
            connection.id().establish();
        }
        up(connection);
    }

    // ---- both sides' ----

    private EventChannel openChannel() {
        EventChannel opened = EventChannel.create();
        last.push(opened);
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

    private PeerPlan own(Connection connection) {
        return plan(connection.number);
    }

    /** No messages and messages of no bytes are the same. */
    private PeerPlan plan(int number) {
        return new PeerPlan(PeerPlan.Program.UCMATOSE, options.connections(), messages, size, number);
    }

    private void createQueuePair(Connection connection) {
        ConnectionPool pool = pools.computeIfAbsent(
                connection.id().context(),
                device -> new ConnectionPool(device, QpType.RC, options.connections(), messages, size));
        connection.pool = pool;
        try {
            if (options.bringUp() == ConnectionMode.EXTERNAL_QP) {
                connection.queuePair = pool.domain().createQueuePair(pool.attributes(connection.index));
                pool.made(connection.queuePair());
                connection.queuePair().modify(connection.id().initQueuePairAttributes(QpState.INIT));
            } else {
                connection.queuePair =
                        connection.id().createQueuePair(pool.domain(), pool.attributes(connection.index));
                pool.made(connection.queuePair());
            }
        } catch (RdmaException e) {
            throw pool.limit(e);
        }
        pool.postReceives(connection.queuePair(), connection.index);
    }

    private static void moveExternal(Connection connection) {
        for (QpState state : List.of(QpState.INIT, QpState.RTR, QpState.RTS)) {
            connection.queuePair().modify(connection.id().initQueuePairAttributes(state));
        }
    }

    private void know(Connection connection, Optional<PeerPlan> plan) {
        connection.verified = plan.isPresent() && connection.pool().canVerify();
        connection.where = "connection " + connection.number + " at the " + (server ? "server" : "client");
        plan.flatMap(other -> own(connection).disagreement(other)).ifPresent(disagreement -> {
            throw disagreement;
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
        if (options.bringUp() != ConnectionMode.RAW) {
            DeviceBinding.require(context, connection.queuePair());
        }
        connection.up = true;
        established++;
    }

    /** Connects without rdma_cm, one after the other, in the same order on both sides. */
    void connectRaw() {
        DeviceContext device = context.device().open();
        last.push(device);
        ConnectionPool pool = new ConnectionPool(device, QpType.RC, options.connections(), messages, size);
        pools.put(device, pool);
        GidEntry gid = options.gid() != null ? options.gid() : context.device().gid();
        RawConnection.Parameters parameters = RawBringUp.PARAMETERS.withReadAtomic(1, 1);
        if (options.ackTimeoutExponent() != null) {
            parameters = parameters.withTimeout(options.ackTimeoutExponent(), parameters.retryCount());
        }
        for (int i = 0; i < options.connections(); i++) {
            Connection connection = new Connection(i);
            connections.add(connection);
            connection.pool = pool;
            connection.since = System.nanoTime();
            try {
                connection.queuePair = pool.domain().createQueuePair(pool.attributes(i));
            } catch (RdmaException e) {
                throw pool.limit(e);
            }
            QueuePair queuePair = connection.queuePair();
            pool.made(queuePair);
            RawAddress local =
                    RawAddress.of(queuePair, gid, ThreadLocalRandom.current().nextInt(1 << 24));
            RawConnection.init(queuePair, local, parameters);
            pool.postReceives(queuePair, i);
            context.tell(RawBringUp.encode(local, own(connection).encode()));
            String[] answer = context.hear("address of the peer's queue pair", options.timeout())
                    .split(" ", -1);
            know(connection, PeerPlan.decode(HexFormat.of().parseHex(answer[6])));
            RawConnection.establish(queuePair, local, RawBringUp.decode(answer), parameters);
            up(connection);
        }
        // Every queue pair of the peer must be able to receive before the first packet leaves.
        RawBringUp.part(context, options.timeout());
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
        if (event.type() == CmEvent.Type.REJECTED) {
            Optional<PeerPlan> refusal = PeerPlan.decode(event.privateData());
            if (refusal.isPresent()) {
                return own(connection)
                        .disagreement(refusal.get())
                        .orElseGet(() -> new ScenarioException(
                                Reason.REJECTED,
                                "The server at " + peer + " has all its "
                                        + refusal.get().connections()
                                        + " connections: start one client only, or the server again"));
            }
        }
        return CmFailures.of(
                event,
                server ? CmEvent.Type.ESTABLISHED : CmEvent.Type.CONNECT_RESPONSE,
                peer,
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
                    Reason.PEER_LOST,
                    "%s ended connection %d in mid-transfer, after %d of %d messages came from it and %d went to it: look at the other side, and %s"
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

    /** A server that takes fewer connections rejects one and ends the others, and the end may overtake the rejection. */
    private void awaitRefusal() {
        if (server || established == options.connections()) {
            return;
        }
        long deadline = Waits.deadline(REFUSAL);
        while (!Waits.remaining(deadline).isZero()) {
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
        connection.id().disconnect();
    }

    /** Takes the events that are there. */
    private void takeEvents() {
        if (channel == null) {
            return;
        }
        for (Optional<CmEvent> event = channel().poll();
                event.isPresent();
                event = channel().poll()) {
            handle(event.get());
        }
    }

    /**
     * Handles events until something is so.
     *
     * @param silence what it means that nothing comes
     * @param limit how long without any event; null for no limit
     */
    private void awaitEvents(Cause silence, String what, BooleanSupplier done, @Nullable Duration limit) {
        long deadline = limit == null ? 0 : Waits.deadline(limit);
        while (true) {
            if (done.getAsBoolean()) {
                return;
            }
            if (progress) {
                progress = false;
                deadline = limit == null ? 0 : Waits.deadline(limit);
            }
            context.checkCancelled();
            try {
                handle(channel().await(SLICE));
            } catch (RdmaTimeoutException e) {
                if (limit != null && System.nanoTime() - deadline >= 0) {
                    throw new RdmaTimeoutException(silence, what, limit, state());
                }
            }
        }
    }

    private String state() {
        return "%d of %d connections came up, %d messages came, %d went"
                .formatted(established, options.connections(), messagesReceived, messagesSent);
    }

    // ---- data ----

    /** Receives every message of every connection. */
    void receive() {
        awaitCompletions("message of the ucmatose peer", (long) options.connections() * messages, true);
    }

    /** Sends every message on every connection and waits for the acknowledgements. */
    void send() {
        for (Connection connection : connections) {
            postSends(connection);
        }
        awaitCompletions("acknowledgement of the ucmatose peer", (long) options.connections() * messages, false);
    }

    private void awaitCompletions(String what, long count, boolean receives) {
        long deadline = Waits.deadline(options.timeout());
        progress = false;
        for (int idle = 1; (receives ? messagesReceived : messagesSent + lost) < count; idle++) {
            if (pollCompletions()) {
                idle = 0;
                progress = true;
            } else if (idle >= SPINS) {
                // Where the device is software, the processor that spins is the one it needs.
                // Until then without PAUSE, for the reason that Progress has.
                Thread.yield();
            }
            if (idle % LOOK == LOOK - 1) {
                context.checkCancelled();
                takeEvents();
                if (progress) {
                    progress = false;
                    deadline = Waits.deadline(options.timeout());
                } else if (System.nanoTime() - deadline >= 0) {
                    throw silence(new RdmaTimeoutException(
                            what, options.timeout(), state() + "; look at the other side, and " + SAME_COUNTS));
                }
            }
        }
    }

    private RuntimeException silence(RdmaTimeoutException timeout) {
        return messagesReceived == 0 && messagesSent == 0
                ? timeout
                : new ScenarioException(Reason.PEER_LOST, peer + ": " + timeout.getMessage(), timeout);
    }

    /** Takes what completed; the sends first, for a failed send tells more than the receives that are flushed with it. */
    private boolean pollCompletions() {
        boolean any = false;
        for (ConnectionPool pool : pools.values()) {
            List<ConnectionPool.@Nullable Queues> all = pool.queues();
            for (int i = 0; i < all.size(); i++) {
                ConnectionPool.Queues queues = all.get(i);
                if (queues != null) {
                    any |= takeSends(queues);
                    any |= takeReceives(queues);
                }
            }
        }
        return any;
    }

    private boolean takeSends(ConnectionPool.Queues queues) {
        Completions completions = queues.completions();
        int count = queues.send().poll(completions);
        for (int i = 0; i < count; i++) {
            Connection connection = connections.get(ConnectionPool.connection(completions.wrId(i)));
            if (!completions.isSuccess(i)) {
                if (connection.gone) {
                    continue;
                }
                throw failed(connection, completions, i, true);
            }
            connection.sent++;
            messagesSent++;
            if (connection.posted < messages) {
                postSends(connection);
            }
        }
        return count > 0;
    }

    private boolean takeReceives(ConnectionPool.Queues queues) {
        Completions completions = queues.completions();
        int count = queues.receive().poll(completions);
        for (int i = 0; i < count; i++) {
            Connection connection = connections.get(ConnectionPool.connection(completions.wrId(i)));
            if (!completions.isSuccess(i)) {
                if (connection.gone) {
                    continue;
                }
                throw failed(connection, completions, i, false);
            }
            int message = ConnectionPool.message(completions.wrId(i));
            int length = completions.byteLength(i);
            if (message != connection.received) {
                throw new AssertionError("Receive %d of %s completed before receive %d"
                        .formatted(message, connection.where, connection.received));
            }
            requireLength(connection, message, length);
            connection.received++;
            messagesReceived++;
            bytesReceived += length;
            if (connection.verified) {
                Payload.verify(
                        connection.pool().received(connection.index, message),
                        PeerPlan.payload(connection.number, messages, message, !server),
                        message,
                        connection.where);
                bytesVerified += length;
            }
        }
        return count > 0;
    }

    /** One of ours sends what it said; the C program messages of one size, which may be smaller than this side's. */
    private void requireLength(Connection connection, int message, int length) {
        if (connection.peerSize < 0) {
            connection.peerSize = connection.verified ? size : length;
        }
        if (length != connection.peerSize || length == 0) {
            throw new AssertionError("Message %d of %s has %d bytes instead of %d"
                    .formatted(message, connection.where, length, connection.peerSize));
        }
    }

    private RuntimeException failed(Connection connection, Completions completions, int index, boolean send) {
        RuntimeException cause = completions.get(index).exception();
        String on = "on connection " + connection.index + " with " + peer;
        WorkCompletion.Status status = completions.status(index);
        if (DriverQuirks.isPeersReceiveTooShort(status)) {
            return new ScenarioException(
                    Reason.SIZE_REFUSED,
                    "The peer takes no message of %d bytes %s: start both sides with the same -S".formatted(size, on),
                    cause);
        }
        if (!send && DriverQuirks.isMessageTooLong(status)) {
            return tooLong(on, cause);
        }
        return switch (status) {
            case LOC_LEN_ERR -> tooLong(on, cause);
            case RNR_RETRY_EXC_ERR ->
                new ScenarioException(
                        Reason.REJECTED,
                        "The peer expects fewer than %d messages %s: start both sides with the same -C"
                                .formatted(messages, on),
                        cause);
            case RETRY_EXC_ERR ->
                new ScenarioException(
                        Reason.PEER_LOST,
                        "The peer stopped acknowledging %s, after %d of %d messages"
                                .formatted(on, connection.sent, messages),
                        cause);
            default -> cause;
        };
    }

    private ScenarioException tooLong(String on, Throwable cause) {
        return new ScenarioException(
                Reason.SIZE_REFUSED,
                "The peer sends more than the %d bytes of -S %s: start both sides with the same -S".formatted(size, on),
                cause);
    }

    private void postSends(Connection connection) {
        ConnectionPool pool = connection.pool();
        int free = pool.sendSlots() - (connection.posted - connection.sent);
        int count = Math.min(free, messages - connection.posted);
        if (count <= 0) {
            return;
        }
        for (int i = connection.posted; i < connection.posted + count; i++) {
            MemorySegment payload = pool.toSend(connection.index, i);
            Payload.fill(payload, PeerPlan.payload(connection.number, messages, i, server));
            options.fault()
                    .apply((long) connection.index * messages + i, (long) options.connections() * messages, payload);
        }
        pool.postSends(connection.queuePair(), connection.index, connection.posted, count);
        connection.posted += count;
    }

    // ---- going ----

    /** Moves every id, and the listener, to another channel. */
    void migrate() {
        EventChannel other = EventChannel.create();
        // Below the ids, which must be closed before it.
        last.addLast(other);
        EventChannel before = channel();
        takeEvents();
        if (listener != null) {
            listener.migrate(other);
        }
        for (Connection connection : connections) {
            connection.id().migrate(other);
        }
        channel = other;
        if (!before.ids().isEmpty()) {
            throw new AssertionError("After migration " + before.ids() + " are still on " + before.describe());
        }
    }

    /** Ends all connections from this side and waits until the peer has followed. */
    void disconnect() {
        if (options.bringUp() == ConnectionMode.RAW) {
            RawBringUp.part(context, options.timeout());
            return;
        }
        takeEvents();
        parting = true;
        int[] left = {0};
        awaitParting("DISCONNECTED", () -> {
            while (left[0] < connections.size() && left[0] - disconnected < IN_FLIGHT) {
                leave(connections.get(left[0]++));
            }
            return disconnected == connections.size();
        });
    }

    /** Waits until the peer has ended all connections, and follows. */
    void awaitDisconnect() {
        if (options.bringUp() == ConnectionMode.RAW) {
            RawBringUp.part(context, options.timeout());
            return;
        }
        awaitParting("DISCONNECTED", () -> disconnected == connections.size());
    }

    private void awaitParting(String what, BooleanSupplier done) {
        try {
            awaitEvents(Cause.PEER_LOST, what, done, options.timeout());
        } catch (RdmaTimeoutException e) {
            throw new ScenarioException(
                    Reason.PEER_LOST,
                    "%s does not part: %d of %d connections were disconnected when %d ms had passed without an event; %s"
                            .formatted(
                                    peer,
                                    disconnected,
                                    connections.size(),
                                    options.timeout().toMillis(),
                                    SAME_COUNTS),
                    e);
        }
    }

    // ---- results ----

    UcmatoseRoles.Result result(long setUp, long transfer) {
        List<UcmatoseRoles.Times> times = connections.stream()
                .map(connection -> new UcmatoseRoles.Times(
                        connection.resolve, connection.route, connection.connect, connection.disconnect))
                .toList();
        boolean verified = connections.stream().allMatch(connection -> connection.verified);
        String unverified = verified || messages == 0
                ? ""
                : pools.values().stream().allMatch(ConnectionPool::canVerify)
                        ? "the peer is the C program"
                        : "the messages are more than there is memory for before they are compared";
        return new UcmatoseRoles.Result(
                times,
                messagesReceived,
                messagesSent,
                bytesReceived,
                bytesVerified,
                unverified,
                attributes,
                List.copyOf(paths),
                surplus,
                setUp,
                transfer,
                0);
    }

    private static String text(InetSocketAddress address) {
        return address.getAddress().getHostAddress() + " port " + address.getPort();
    }

    /** Destroys queue pairs, what they shared, ids and channels, in this order. */
    @Override
    public void close() {
        Closing closing = new Closing();
        pools.values().forEach(closing::close);
        while (!last.isEmpty()) {
            closing.close(last.pop());
        }
        closing.finish();
    }
}
