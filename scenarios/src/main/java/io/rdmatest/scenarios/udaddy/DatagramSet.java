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
import io.rdmatest.scenarios.engine.CmFailures;
import io.rdmatest.scenarios.engine.ConnectionPool;
import io.rdmatest.scenarios.engine.ConnectionResult.Times;
import io.rdmatest.scenarios.engine.DeviceBinding;
import io.rdmatest.scenarios.engine.LinkSet;
import io.rdmatest.scenarios.engine.Payload;
import io.rdmatest.scenarios.engine.RcLink;
import io.rdmatest.scenarios.role.DeliveryError;
import io.rdmatest.scenarios.role.PeerPlan;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.verbs.AddressHandle;
import io.rdmatest.verbs.Completions;
import io.rdmatest.verbs.LinkLayer;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.WorkCompletion;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** One side's datagram paths: udaddy's connections, each a queue pair that knows the other side's. */
final class DatagramSet extends LinkSet<UdaddyOptions, DatagramSet.Path> {

    private static final ValueLayout.OfInt NUMBER = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final SendFlag[] SIGNALED = {SendFlag.SIGNALED};

    private @Nullable CmId listener;
    private long reordered;

    /** One path: a queue pair and where it sends to. */
    static final class Path extends LinkSet.Link {

        private final CmId id;
        private final boolean ethernet;
        private final BitSet arrived = new BitSet();
        private @Nullable AddressHandle destination;
        private int remoteQp = -1;
        private int remoteQkey;

        private Path(int index, CmId id) {
            super(index);
            this.id = id;
            this.ethernet = linkLayer(id) == LinkLayer.ETHERNET;
        }
    }

    DatagramSet(RoleContext context, UdaddyOptions options, boolean server) {
        super(context, options, server, PeerPlan.Program.UDADDY, QpType.UD, "paths");
    }

    // ---- finding each other ----

    /** Listens and answers as many requests as there are to be paths; returns when the first came. */
    long awaitRequests() {
        CmId id = listen(resources.own(EventChannel.create()));
        listener = id;
        // Told also when it was given: the port of the C program is
        // fixed, and its client gives up when nobody listens yet.
        context.tell(Integer.toString(id.localPort()));
        long first = 0;
        while (links.size() < options.connections()) {
            Duration limit = links.isEmpty() ? options.firstWait() : options.timeout();
            CmEvent event = RcLink.awaitEvent(context, id, limit, Cause.PEER_ABSENT, "connection request")
                    .require(CmEvent.Type.CONNECT_REQUEST);
            if (links.isEmpty()) {
                first = System.nanoTime();
            }
            answer(event);
        }
        return first;
    }

    private void answer(CmEvent event) {
        long since = System.nanoTime();
        Optional<PeerPlan> plan = agree(event);
        CmId id = resources.own(event.id());
        peer = id.remoteAddress().getAddress().getHostAddress();
        Path path = path(id);
        know(path, plan);
        id.accept(ConnectionParameters.builder()
                .qpNumber(path.queuePair().number())
                .privateData(plan.isPresent() ? plan(path.number).encode() : new byte[0])
                .build());
        path.connect = System.nanoTime() - since;
    }

    /** Finds the server's queue pairs. */
    void resolve() {
        AddressInfo target = lookUp();
        EventChannel channel = resources.own(EventChannel.create());
        for (int i = 0; i < options.connections(); i++) {
            resolve(resources.own(channel.createId(options.portSpace())), target);
        }
    }

    private void resolve(CmId id, AddressInfo target) {
        long start = System.nanoTime();
        try {
            id.resolveAddress(target, RcLink.resolving(options.timeout()));
        } catch (RdmaException e) {
            throw ofAddress(e, options.serverAddress(), peer);
        } catch (RdmaTimeoutException e) {
            throw CmFailures.noHost(peer, e);
        } catch (UnexpectedCmEventException e) {
            throw noRoute(e);
        }
        long resolved = System.nanoTime();
        if (options.portSpace() == PortSpace.IPOIB && linkLayer(id) != LinkLayer.INFINIBAND) {
            throw noIpoib(null);
        }
        if (options.typeOfService() != null) {
            id.setTypeOfService(options.typeOfService());
        }
        try {
            id.resolveRoute(RcLink.resolving(options.timeout()));
        } catch (UnexpectedCmEventException | RdmaTimeoutException e) {
            throw noRoute(e);
        }
        long routed = System.nanoTime();
        Path path = path(id);
        path.resolve = resolved - start;
        path.route = routed - resolved;
        long connecting = System.nanoTime();
        id.connect(ConnectionParameters.builder()
                .privateData(plan(path.number).encode())
                .build());
        CmEvent event = RcLink.awaitEvent(
                context, id, options.timeout(), Cause.PEER_ABSENT, "answer to the service id resolution");
        if (event.type() != CmEvent.Type.ESTABLISHED) {
            throw refused(event, CmEvent.Type.ESTABLISHED, SAME_COUNTS);
        }
        path.connect = System.nanoTime() - connecting;
        know(path, PeerPlan.decode(event.privateData()));
        UdParameters ud = event.ud();
        if (ud == null) {
            throw new AssertionError("ESTABLISHED brings no queue pair of " + peer);
        }
        path.remoteQp = ud.qpNumber();
        path.remoteQkey = ud.qkey();
        ConnectionPool pool = path.pool();
        path.destination = pool.own(pool.domain().createAddressHandle(ud.requireAddress()));
    }

    private ScenarioException noRoute(RuntimeException cause) {
        return new ScenarioException(Cause.NO_ROUTE, "No RDMA route leads to " + peer, cause);
    }

    @Override
    protected RuntimeException ofAddress(RdmaException failure, @Nullable String address, String where) {
        return options.portSpace() == PortSpace.IPOIB
                        && !isNative()
                        && !failure.errnoName().equals("EADDRINUSE")
                ? noIpoib(failure)
                : super.ofAddress(failure, address, where);
    }

    private static ScenarioException noIpoib(@Nullable Throwable cause) {
        return new ScenarioException(
                Cause.UNSUPPORTED,
                "The IPOIB port space needs an InfiniBand port, and this port is not one: leave out -p, or give -p udp",
                cause);
    }

    private Path path(CmId id) {
        DeviceBinding.require(context, id);
        int mtu = id.context().port(id.port()).activeMtu().bytes();
        if (size > mtu) {
            throw new ScenarioException(
                    Cause.SIZE_REFUSED,
                    "A datagram of %d bytes exceeds the active MTU of %d of %s: give a smaller -S, or raise the MTU"
                            .formatted(size, mtu, id.context().deviceName()));
        }
        Path path = new Path(links.size(), id);
        attach(path, id.context(), (pool, wanted) -> pool.made(id.createQueuePair(pool.domain(), wanted)));
        links.add(path);
        return path;
    }

    // ---- messages ----

    @Override
    protected void post(Path path, int first, int count) {
        AddressHandle destination = path.destination;
        if (destination == null || path.remoteQp < 0) {
            throw new IllegalStateException(path.where + " does not know where to send");
        }
        for (int message = first; message < first + count; message++) {
            path.queuePair()
                    .postSendWithImmediate(
                            ConnectionPool.wrId(path.index, message),
                            path.pool().region(),
                            path.pool().sendOffset(path.index, message),
                            size,
                            destination,
                            path.remoteQp,
                            path.remoteQkey,
                            path.queuePair().number(),
                            SIGNALED);
        }
    }

    /** Datagrams may be lost, duplicated and reordered: each has its number, where it has room for that. */
    @Override
    protected void fill(Path path, MemorySegment payload, int message) {
        super.fill(path, payload, message);
        if (size >= Integer.BYTES) {
            payload.set(NUMBER, 0, message);
        }
    }

    @Override
    protected int examine(Path path, int slot, Completions completions, int index) {
        int length = completions.byteLength(index) - ConnectionPool.GRH;
        if (length < 1 || (path.verified ? length != size : length > size)) {
            throw new AssertionError("A message of %s has %d bytes instead of %d after the %d of the route header"
                    .formatted(path.where, length, size, ConnectionPool.GRH));
        }
        requireSource(path, completions, index);
        if (server && path.destination == null) {
            returnTo(path, completions.get(index), slot);
        }
        return length;
    }

    private static void requireSource(Path path, Completions completions, int index) {
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
    private static void returnTo(Path path, WorkCompletion first, int slot) {
        ConnectionPool pool = path.pool();
        path.remoteQp = first.sourceQp();
        path.remoteQkey = path.queuePair().query().qkey();
        path.destination = pool.own(pool.domain()
                .createAddressHandle(first, pool.region(), pool.receiveOffset(path.index, slot), path.id.port()));
    }

    @Override
    protected void verify(Path path, int slot) {
        MemorySegment payload = path.pool().received(path.index, slot);
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
        long expected = expected(path, message);
        if (size >= Integer.BYTES) {
            // The number took the place of the first bytes.
            for (int i = 0; i < Integer.BYTES; i++) {
                payload.set(ValueLayout.JAVA_BYTE, i, Payload.at(expected, i));
            }
        }
        Payload.verify(payload, expected, message, path.where);
    }

    @Override
    protected RuntimeException failed(Path path, Completions completions, int index, boolean send) {
        WorkCompletion completion = completions.get(index);
        return !send && completion.status() == WorkCompletion.Status.LOC_LEN_ERR
                ? tooLong("on " + path.where, completion.exception())
                : completion.exception();
    }

    @Override
    protected boolean takeEvents() {
        CmId present = listener;
        if (present != null) {
            for (Optional<CmEvent> event = present.pollEvent(); event.isPresent(); event = present.pollEvent()) {
                if (event.get().type() == CmEvent.Type.CONNECT_REQUEST) {
                    rejectSurplus(event.get());
                }
            }
        }
        // A client too many is no progress.
        return false;
    }

    @Override
    protected String state() {
        return "%d of %d messages received".formatted(messagesReceived(), (long) options.connections() * messages);
    }

    /** If some messages came, the rest is lost; if none came, there may be no peer. */
    @Override
    protected RuntimeException silence(RdmaTimeoutException timeout) {
        if (messagesReceived() == 0) {
            return timeout;
        }
        StringBuilder text = new StringBuilder();
        for (Path path : links) {
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
        throw lost;
    }

    // ---- the end ----

    UdaddyRoles.Result result(long setUp, long transfer) {
        return new UdaddyRoles.Result(
                links.stream()
                        .map(path -> new Times(path.resolve, path.route, path.connect, 0))
                        .toList(),
                messagesReceived(),
                messagesSent(),
                bytesReceived(),
                bytesVerified(),
                reordered,
                unverified(),
                surplus,
                setUp,
                transfer);
    }
}
