package io.rdmatest.scenarios.udaddy;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.cm.AddressInfo;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.ConnectionParameters;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.cm.UdParameters;
import io.rdmatest.scenarios.engine.AddressTexts;
import io.rdmatest.scenarios.engine.Closing;
import io.rdmatest.scenarios.engine.CmFailures;
import io.rdmatest.scenarios.engine.ConnectionPool;
import io.rdmatest.scenarios.engine.DeliveryError;
import io.rdmatest.scenarios.engine.DeviceBinding;
import io.rdmatest.scenarios.engine.Payload;
import io.rdmatest.scenarios.engine.PeerPlan;
import io.rdmatest.scenarios.engine.RcLink;
import io.rdmatest.scenarios.engine.RoleContext;
import io.rdmatest.scenarios.engine.ScenarioException;
import io.rdmatest.scenarios.engine.ScenarioException.Reason;
import io.rdmatest.scenarios.engine.Waits;
import io.rdmatest.scenarios.ucmatose.UcmatoseRoles;
import io.rdmatest.verbs.AddressHandle;
import io.rdmatest.verbs.Completions;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.LinkLayer;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.WorkCompletion;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** One side's datagram paths: udaddy's connections, each a queue pair that knows the other side's. */
final class DatagramSet implements AutoCloseable {

    private static final ValueLayout.OfInt NUMBER = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final SendFlag[] SIGNALED = {SendFlag.SIGNALED};
    private static final Duration SLICE = Duration.ofMillis(50);
    private static final int SPINS = 32;
    private static final int LOOK = 256;
    private static final String SAME_COUNTS = "start both sides with the same -c, -C and -S";

    private final RoleContext context;
    private final UdaddyOptions options;
    private final boolean server;
    private final int messages;
    private final int size;
    private final List<Path> paths = new ArrayList<>();
    private final Map<DeviceContext, ConnectionPool> pools = new IdentityHashMap<>();
    private final Deque<AutoCloseable> last = new ArrayDeque<>();
    private String peer = "the peer";
    private @Nullable CmId listener;
    private int surplus;
    private long messagesReceived;
    private long messagesSent;
    private long bytesReceived;
    private long bytesVerified;
    private long reordered;

    /** One path: a queue pair and where it sends to. */
    private static final class Path {

        private final int index;
        private final CmId id;
        private final ConnectionPool pool;
        private final QueuePair queuePair;
        private final BitSet arrived = new BitSet();
        private int number;
        private boolean verified;
        private @Nullable AddressHandle destination;
        private int remoteQp = -1;
        private int remoteQkey;
        private int received;
        private int posted;
        private int sent;
        private long resolve;
        private long route;
        private long connect;
        private String where = "";
        private final boolean ethernet;

        private Path(int index, CmId id, ConnectionPool pool, QueuePair queuePair) {
            this.index = index;
            this.number = index;
            this.id = id;
            this.pool = pool;
            this.queuePair = queuePair;
            this.ethernet = id.context().port(id.port()).linkLayer() == LinkLayer.ETHERNET;
        }
    }

    DatagramSet(RoleContext context, UdaddyOptions options, boolean server) {
        this.context = context;
        this.options = options;
        this.server = server;
        messages = options.hasMessages() ? options.messages() : 0;
        size = options.hasMessages() ? options.sizeBytes() : 0;
    }

    // ---- coming up ----

    /** Listens and answers as many requests as there are to be paths; returns when the first came. */
    long awaitRequests() {
        EventChannel channel = own(EventChannel.create());
        CmId id = own(channel.createId(options.portSpace()));
        listener = id;
        String bind = options.bindAddress();
        try {
            if (bind == null) {
                id.bind(new InetSocketAddress(context.device().address(), options.port()));
            } else {
                id.bind(AddressTexts.passive(
                        options.addressFormat(), options.portSpace(), bind, options.port(), options.timeout()));
            }
            id.listen(0);
        } catch (RdmaException e) {
            throw ofAddress(e, bind, (bind == null ? "the device's address" : bind) + " port " + options.port());
        }
        // Told also when it was given: the port of the C program is
        // fixed, and its client gives up when nobody listens yet.
        context.tell(Integer.toString(id.localPort()));
        long first = 0;
        while (paths.size() < options.connections()) {
            CmEvent event = awaitRequest(id, paths.isEmpty() ? options.firstClientTimeout() : options.timeout());
            if (paths.isEmpty()) {
                first = System.nanoTime();
            }
            answer(event);
        }
        return first;
    }

    private CmEvent awaitRequest(CmId id, @Nullable Duration limit) {
        if (limit != null) {
            return RcLink.awaitEvent(context, id, limit, Cause.PEER_ABSENT, "connection request")
                    .require(CmEvent.Type.CONNECT_REQUEST);
        }
        while (true) {
            context.checkCancelled();
            try {
                return id.awaitEvent(SLICE).require(CmEvent.Type.CONNECT_REQUEST);
            } catch (RdmaTimeoutException e) {
                context.trace(() -> "no request yet");
            }
        }
    }

    private void answer(CmEvent event) {
        CmId id = event.id();
        long since = System.nanoTime();
        Optional<PeerPlan> plan = PeerPlan.decode(event.privateData());
        Optional<ScenarioException> disagreement = plan.flatMap(other -> plan(-1).disagreement(other));
        if (disagreement.isPresent()) {
            refuse(id);
            throw disagreement.get();
        }
        last.push(id);
        peer = id.remoteAddress().getAddress().getHostAddress();
        Path path = path(id);
        know(path, plan);
        ConnectionParameters.Builder parameters = ConnectionParameters.builder()
                .qpNumber(path.queuePair.number())
                .privateData(plan.isPresent() ? plan(path.number).encode() : new byte[0]);
        id.accept(parameters.build());
        path.connect = System.nanoTime() - since;
    }

    private void refuse(CmId id) {
        try (id) {
            id.reject(plan(-1).encode());
        }
    }

    /** Finds the server's queue pairs. */
    void resolve() {
        String host = options.serverAddress();
        int port = options.port() != 0
                ? options.port()
                : Integer.parseInt(context.hear("port of the udaddy server", options.timeout()));
        String address = host != null ? host : context.peerAddress().getHostAddress();
        String source = DeviceBinding.source(context, options.addressFormat(), address, options.bindAddress());
        AddressInfo target = AddressTexts.active(
                options.addressFormat(), options.portSpace(), address, port, source, options.timeout());
        peer = address + " port " + port;
        EventChannel channel = own(EventChannel.create());
        for (int i = 0; i < options.connections(); i++) {
            CmId id = own(channel.createId(options.portSpace()));
            long start = System.nanoTime();
            try {
                id.resolveAddress(target, RcLink.resolving(options.timeout()));
            } catch (RdmaException e) {
                throw ofAddress(e, address, peer);
            } catch (RdmaTimeoutException e) {
                throw CmFailures.noHost(peer, e);
            } catch (UnexpectedCmEventException e) {
                throw new ScenarioException(Reason.NO_ROUTE, "No RDMA route leads to " + peer, e);
            }
            long resolved = System.nanoTime();
            requirePortSpace(id);
            if (options.typeOfService() != null) {
                id.setTypeOfService(options.typeOfService());
            }
            try {
                id.resolveRoute(RcLink.resolving(options.timeout()));
            } catch (UnexpectedCmEventException | RdmaTimeoutException e) {
                throw new ScenarioException(Reason.NO_ROUTE, "No RDMA route leads to " + peer, e);
            }
            long routed = System.nanoTime();
            Path path = path(id);
            path.resolve = resolved - start;
            path.route = routed - resolved;
            long connecting = System.nanoTime();
            id.connect(
                    ConnectionParameters.builder().privateData(plan(i).encode()).build());
            CmEvent event = RcLink.awaitEvent(
                    context, id, options.timeout(), Cause.PEER_ABSENT, "answer to the service id resolution");
            if (event.type() != CmEvent.Type.ESTABLISHED) {
                throw failed(event);
            }
            path.connect = System.nanoTime() - connecting;
            know(path, PeerPlan.decode(event.privateData()));
            UdParameters ud = event.ud();
            if (ud == null) {
                throw new AssertionError("ESTABLISHED brings no queue pair of " + peer);
            }
            path.remoteQp = ud.qpNumber();
            path.remoteQkey = ud.qkey();
            path.destination = path.pool.own(path.pool.domain().createAddressHandle(ud.requireAddress()));
        }
    }

    private RuntimeException failed(CmEvent event) {
        return PeerPlan.decode(event.privateData())
                .map(refusal -> plan(-1).disagreement(refusal)
                        .orElseGet(() -> new ScenarioException(
                                Reason.REJECTED,
                                "The server at " + peer + " has all its " + refusal.connections()
                                        + " paths: start one client only, or the server again")))
                .map(RuntimeException.class::cast)
                .orElseGet(() -> CmFailures.of(event, CmEvent.Type.ESTABLISHED, peer, SAME_COUNTS));
    }

    private RuntimeException ofAddress(RdmaException failure, @Nullable String address, String where) {
        if (options.addressFormat() == AddressInfo.Format.GID && address != null) {
            return AddressTexts.unsupported(address, failure);
        }
        return options.portSpace() == PortSpace.IPOIB && !failure.errnoName().equals("EADDRINUSE")
                ? noIpoib(failure)
                : CmFailures.ofAddress(failure, where);
    }

    private void requirePortSpace(CmId id) {
        if (options.portSpace() == PortSpace.IPOIB
                && id.context().port(id.port()).linkLayer() != LinkLayer.INFINIBAND) {
            throw noIpoib(null);
        }
    }

    private static ScenarioException noIpoib(@Nullable Throwable cause) {
        return new ScenarioException(
                Reason.UNSUPPORTED,
                "The IPOIB port space is that of IP over InfiniBand, and this port is none: leave -p away, or give -p"
                        + " udp",
                cause);
    }

    private PeerPlan plan(int number) {
        return new PeerPlan(PeerPlan.Program.UDADDY, options.connections(), messages, size, number);
    }

    private Path path(CmId id) {
        DeviceBinding.require(context, id);
        int mtu = id.context().port(id.port()).activeMtu().bytes();
        if (size > mtu) {
            throw new ScenarioException(
                    Reason.SIZE_REFUSED,
                    "A datagram of %d bytes exceeds the active MTU of %d of %s: give a smaller -S, or raise the MTU"
                            .formatted(size, mtu, id.context().deviceName()));
        }
        ConnectionPool pool = pools.computeIfAbsent(
                id.context(), device -> new ConnectionPool(device, QpType.UD, options.connections(), messages, size));
        QueuePair queuePair;
        try {
            queuePair = id.createQueuePair(pool.domain(), pool.attributes(paths.size()));
        } catch (RdmaException e) {
            throw pool.limit(e);
        }
        pool.made(queuePair);
        Path path = new Path(paths.size(), id, pool, queuePair);
        paths.add(path);
        pool.postReceives(queuePair, path.index);
        return path;
    }

    private void know(Path path, Optional<PeerPlan> plan) {
        plan.ifPresent(other -> {
            if (server) {
                path.number = other.number();
            }
            plan(path.number).disagreement(other).ifPresent(disagreement -> {
                throw disagreement;
            });
        });
        path.verified = plan.isPresent() && path.pool.canVerify();
        path.where = "path " + path.number + " at the " + (server ? "server" : "client");
    }

    // ---- data ----

    /** Receives every message of every path. */
    void receive() {
        awaitCompletions("message of the udaddy peer", true);
    }

    /** Sends every message on every path and waits until they have left. */
    void send() {
        if (messages == 0) {
            return;
        }
        for (Path path : paths) {
            post(path);
        }
        awaitCompletions("completion of a message to the udaddy peer", false);
    }

    private void post(Path path) {
        AddressHandle destination = path.destination;
        if (destination == null || path.remoteQp < 0) {
            throw new IllegalStateException(path.where + " does not know where to send");
        }
        while (path.posted < messages && path.posted - path.sent < path.pool.sendSlots()) {
            int message = path.posted;
            MemorySegment payload = path.pool.toSend(path.index, message);
            fill(path, payload, message);
            options.fault()
                    .apply((long) path.index * messages + message, (long) options.connections() * messages, payload);
            path.queuePair.postSendWithImmediate(
                    ConnectionPool.wrId(path.index, message),
                    path.pool.region(),
                    path.pool.sendOffset(path.index, message),
                    size,
                    destination,
                    path.remoteQp,
                    path.remoteQkey,
                    path.queuePair.number(),
                    SIGNALED);
            path.posted++;
        }
    }

    /** Datagrams may be lost, doubled and reordered: each says its number, where it has room for that. */
    private void fill(Path path, MemorySegment payload, int message) {
        Payload.fill(payload, PeerPlan.payload(path.number, messages, message, server));
        if (size >= Integer.BYTES) {
            payload.set(NUMBER, 0, message);
        }
    }

    private void awaitCompletions(String what, boolean receives) {
        long count = (long) options.connections() * messages;
        long deadline = Waits.deadline(options.timeout());
        boolean progress = false;
        for (int idle = 1; (receives ? messagesReceived : messagesSent) < count; idle++) {
            if (poll()) {
                idle = 0;
                progress = true;
            } else if (idle >= SPINS) {
                // Where the device is software, the processor that spins is the one it needs.
                // Until then without PAUSE, for the reason that Progress has.
                Thread.yield();
            }
            if (idle % LOOK == LOOK - 1) {
                context.checkCancelled();
                rejectSurplus();
                if (progress) {
                    progress = false;
                    deadline = Waits.deadline(options.timeout());
                } else if (System.nanoTime() - deadline >= 0) {
                    throw silence(new RdmaTimeoutException(
                            what, options.timeout(), messagesReceived + " of " + count + " messages came"));
                }
            }
        }
    }

    private void rejectSurplus() {
        CmId present = listener;
        if (present != null) {
            for (Optional<CmEvent> event = present.pollEvent(); event.isPresent(); event = present.pollEvent()) {
                if (event.get().type() == CmEvent.Type.CONNECT_REQUEST) {
                    surplus++;
                    refuse(event.get().id());
                }
            }
        }
    }

    private AssertionError lost(RdmaTimeoutException timeout) {
        StringBuilder text = new StringBuilder();
        for (Path path : paths) {
            if (path.received < messages) {
                text.append(text.isEmpty() ? "" : "; ")
                        .append(path.where)
                        .append(" got ")
                        .append(path.received)
                        .append(" of ")
                        .append(messages)
                        .append(path.verified ? ", the first missing one is " + path.arrived.nextClearBit(0) : "");
                if (text.length() > 400) {
                    text.append(" …");
                    break;
                }
            }
        }
        DeliveryError lost = new DeliveryError(
                "Datagrams of " + peer + " were lost, or it died or was given a smaller -C: " + text, List.of());
        Throwable ignored = lost.initCause(timeout);
        return lost;
    }

    /** Where something came, the rest is lost; where nothing came, nobody may be there. */
    private RuntimeException silence(RdmaTimeoutException timeout) {
        if (messagesReceived > 0) {
            throw lost(timeout);
        }
        return timeout;
    }

    private boolean poll() {
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
            if (!completions.isSuccess(i)) {
                throw completions.get(i).exception();
            }
            Path path = paths.get(ConnectionPool.connection(completions.wrId(i)));
            path.sent++;
            messagesSent++;
            if (path.posted < messages) {
                post(path);
            }
        }
        return count > 0;
    }

    private boolean takeReceives(ConnectionPool.Queues queues) {
        Completions completions = queues.completions();
        int count = queues.receive().poll(completions);
        for (int i = 0; i < count; i++) {
            Path path = paths.get(ConnectionPool.connection(completions.wrId(i)));
            if (!completions.isSuccess(i)) {
                throw failed(path, completions.get(i));
            }
            int slot = ConnectionPool.message(completions.wrId(i));
            int length = completions.byteLength(i) - ConnectionPool.GRH;
            if (length < 1 || (path.verified ? length != size : length > size)) {
                throw new AssertionError("A message of %s has %d bytes instead of %d after the %d of the route header"
                        .formatted(path.where, length, size, ConnectionPool.GRH));
            }
            requireSource(path, completions, i);
            if (server && path.destination == null) {
                returnTo(path, completions.get(i), slot);
            }
            path.received++;
            messagesReceived++;
            bytesReceived += length;
            if (path.verified) {
                verify(path, slot);
                bytesVerified += length;
            }
        }
        return count > 0;
    }

    private RuntimeException failed(Path path, WorkCompletion completion) {
        return completion.status() == WorkCompletion.Status.LOC_LEN_ERR
                ? new ScenarioException(
                        Reason.SIZE_REFUSED,
                        "The peer sends more than the %d bytes of -S on %s: start both sides with the same -S"
                                .formatted(size, path.where),
                        completion.exception())
                : completion.exception();
    }

    private void requireSource(Path path, Completions completions, int index) {
        int source = completions.sourceQp(index);
        if (!completions.hasImmediate(index) || completions.immediate(index) != source) {
            throw new AssertionError(
                    "A message of %s is of queue pair %d and has immediate data %s: it must be the same number"
                            .formatted(
                                    path.where,
                                    source,
                                    completions.hasImmediate(index) ? completions.immediate(index) : "none"));
        }
        if (path.remoteQp >= 0 && path.remoteQp != source) {
            throw new AssertionError("A message of %s is of queue pair %d, the peer's is %d"
                    .formatted(path.where, source, path.remoteQp));
        }
        if (path.ethernet && !completions.hasGrh(index)) {
            throw new AssertionError(
                    "A message of %s has no global route header, which RoCE always has".formatted(path.where));
        }
    }

    /** The way back is that of the first message: its route header, and its queue pair. */
    private void returnTo(Path path, WorkCompletion first, int slot) {
        path.remoteQp = first.sourceQp();
        path.remoteQkey = path.queuePair.query().qkey();
        path.destination = path.pool.own(path.pool
                .domain()
                .createAddressHandle(
                        first, path.pool.region(), path.pool.receiveOffset(path.index, slot), path.id.port()));
    }

    private void verify(Path path, int slot) {
        MemorySegment payload = path.pool.received(path.index, slot);
        int message = path.received - 1;
        if (size >= Integer.BYTES) {
            message = payload.get(NUMBER, 0);
            if (message < 0 || message >= messages) {
                throw new AssertionError(
                        "A message of %s has number %d: there are %d".formatted(path.where, message, messages));
            }
            if (path.arrived.get(message)) {
                throw new AssertionError("Message %d of %s came twice".formatted(message, path.where));
            }
            if (path.arrived.length() > message) {
                reordered++;
            }
        }
        path.arrived.set(message);
        long expected = PeerPlan.payload(path.number, messages, message, !server);
        if (size >= Integer.BYTES) {
            // The number took the place of the first bytes.
            for (int i = 0; i < Integer.BYTES; i++) {
                payload.set(ValueLayout.JAVA_BYTE, i, Payload.at(expected, i));
            }
        }
        Payload.verify(payload, expected, message, path.where);
    }

    // ---- the end ----

    UdaddyRoles.Result result(long setUp, long transfer) {
        boolean verified = paths.stream().allMatch(path -> path.verified);
        return new UdaddyRoles.Result(
                paths.stream()
                        .map(path -> new UcmatoseRoles.Times(path.resolve, path.route, path.connect, 0))
                        .toList(),
                messagesReceived,
                messagesSent,
                bytesReceived,
                bytesVerified,
                reordered,
                verified || messages == 0
                        ? ""
                        : pools.values().stream().allMatch(ConnectionPool::canVerify)
                                ? "the peer is the C program"
                                : "the messages are more than there is memory for before they are compared",
                surplus,
                setUp,
                transfer);
    }

    private <T extends AutoCloseable> T own(T resource) {
        last.push(resource);
        return resource;
    }

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
