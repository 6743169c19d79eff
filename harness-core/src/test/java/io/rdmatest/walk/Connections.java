package io.rdmatest.walk;

import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.cm.AddressInfo;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.ConnectionParameters;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.IbAddress;
import io.rdmatest.cm.JoinFlag;
import io.rdmatest.cm.MulticastMembership;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.Ece;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpState;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/** Walks over the connection manager: short lives of ids, from creation to closing, with wrong calls in every state. */
final class Connections {

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    /** One that is in timewait would be refused as stale: every connection has another. */
    private static final AtomicInteger QP_NUMBERS = new AtomicInteger(0x200000);

    private final Walker walker;
    private final InetAddress address;

    Connections(Walker walker, GidEntry gid) {
        this.walker = walker;
        this.address = gid.gid().toInetAddress();
    }

    private InetSocketAddress any() {
        return new InetSocketAddress(address, 0);
    }

    void step() {
        switch (walker.below(10)) {
            case 0 -> connection();
            case 1 -> group();
            case 2 -> withQueuePair();
            case 3 -> values();
            default -> unconnected();
        }
    }

    private EventChannel channel() {
        return walker.made("EventChannel.create()", EventChannel::create);
    }

    private CmId id(EventChannel channel, PortSpace portSpace) {
        return walker.made("createId(" + portSpace + ")", () -> channel.createId(portSpace));
    }

    private static ConnectionParameters parameters() {
        return ConnectionParameters.builder()
                .qpNumber(QP_NUMBERS.getAndIncrement())
                .responderResources(1)
                .initiatorDepth(1)
                .build();
    }

    /** What an id without a device can't do. */
    private void wrongWithoutDevice(CmId id) {
        switch (walker.below(10)) {
            case 0 -> walker.no("context() of " + id, id::context, IllegalStateException.class);
            case 1 -> walker.no("connect() of " + id, () -> id.connect(parameters()), IllegalStateException.class);
            case 2 -> walker.no("accept() of " + id, () -> id.accept(parameters()), IllegalStateException.class);
            case 3 -> walker.no("establish() of " + id, id::establish, IllegalStateException.class);
            case 4 -> walker.no("disconnect() of " + id, id::disconnect, IllegalStateException.class);
            case 5 ->
                walker.no("resolveRoute() of " + id, () -> id.resolveRoute(PATIENCE), IllegalStateException.class);
            case 6 ->
                walker.no(
                        "initQueuePairAttributes() of " + id,
                        () -> id.initQueuePairAttributes(QpState.INIT),
                        IllegalStateException.class);
            case 7 -> walker.no("listen(-1) of " + id, () -> id.listen(-1), IllegalArgumentException.class);
            case 8 ->
                walker.no(
                        "setTypeOfService(256) of " + id,
                        () -> id.setTypeOfService(256),
                        IllegalArgumentException.class);
            default ->
                walker.no("reject(300 bytes) of " + id, () -> id.reject(new byte[300]), IllegalArgumentException.class);
        }
    }

    private void unconnected() {
        EventChannel channel = channel();
        CmId id = id(channel, walker.one(PortSpace.TCP, PortSpace.UDP, PortSpace.IPOIB));
        for (int i = walker.below(12); i > 0; i--) {
            wrongWithoutDevice(id);
        }
        Looks.random(walker, id, IllegalStateException.class);
        Looks.random(walker, channel);
        walker.requireEqual(walker.ok("ids() of " + channel, channel::ids), List.of(id), "ids of " + channel);
        walker.requireEqual(walker.ok("poll() of " + channel, channel::poll), Optional.empty(), "event");
        walker.requireEqual(walker.ok("pollEvent() of " + id, id::pollEvent), Optional.empty(), "event");
        walker.no("awaitEvent(0) of " + id, () -> id.awaitEvent(Duration.ZERO), RdmaTimeoutException.class);
        walker.no("await(0) of " + channel, () -> channel.await(Duration.ZERO), RdmaTimeoutException.class);
        walker.no("await(-1) of " + channel, () -> channel.await(Duration.ofNanos(-1)), IllegalArgumentException.class);
        walker.no(
                "expect(ESTABLISHED) of " + channel,
                () -> channel.expect(CmEvent.Type.ESTABLISHED, Duration.ZERO),
                RdmaTimeoutException.class);
        if (walker.chance(2)) {
            walker.done("setReuseAddress(true)", () -> id.setReuseAddress(true));
            walker.done("setTypeOfService(8)", () -> id.setTypeOfService(8));
            walker.done("setAfOnly(true)", () -> id.setAfOnly(true));
            walker.maybeDone("setAckTimeout(20)", () -> id.setAckTimeout(20), RdmaException.class);
            walker.maybeDone("setLocalEce(1)", () -> id.setLocalEce(new Ece(1, 2)), RdmaException.class);
            Ece remote = walker.maybe("remoteEce()", id::remoteEce, RdmaException.class);
            walker.require(remote == null || remote.options() == 0, "an offer of nobody: " + remote);
            walker.no("setAckTimeout(32)", () -> id.setAckTimeout(32), IllegalArgumentException.class);
        }
        if (id.portSpace() == PortSpace.TCP && walker.chance(2)) {
            walker.done("bind(" + any() + ")", () -> id.bind(any()));
            walker.no("bind(again)", () -> id.bind(any()), RdmaException.class);
            walker.require(walker.ok("hasDevice()", id::hasDevice), id + " has no device");
            walker.require(id.localPort() > 0, id + " has no port");
            walker.no(
                    "connect(no queue pair)",
                    () -> id.connect(ConnectionParameters.defaults()),
                    IllegalStateException.class);
            walker.no("connect(unresolved)", () -> id.connect(parameters()), RdmaException.class);
            walker.no("accept(unresolved)", () -> id.accept(parameters()), RdmaException.class);
            walker.done("listen(2)", () -> id.listen(2));
            walker.no("resolveRoute(listening)", () -> id.resolveRoute(PATIENCE), RdmaException.class);
        } else {
            InetSocketAddress elsewhere = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
            walker.maybeDone("bind(" + elsewhere + ")", () -> id.bind(elsewhere), RdmaException.class);
            walker.no(
                    "bind(native address)",
                    () -> id.bind(IbAddress.of(Gid.of(address), PortSpace.TCP, 5)),
                    RdmaException.class);
        }
        EventChannel other = channel();
        walker.done("migrate(" + id + ", " + other + ")", () -> id.migrate(other));
        walker.requireEqual(id.channel(), other, "channel of " + id);
        walker.requireEqual(id.parents(), List.of(other), "parents of " + id);
        walker.no("close(" + other + " in use)", other::close, IllegalStateException.class);
        walker.close(channel);
        walker.no("migrate(" + id + ", closed)", () -> id.migrate(channel), IllegalStateException.class);
        walker.no("createId(closed)", () -> channel.createId(PortSpace.TCP), IllegalStateException.class);
        walker.no("poll(closed " + channel + ")", channel::poll, IllegalStateException.class);
        walker.close(id);
        walker.no("bind(closed " + id + ")", () -> id.bind(any()), IllegalStateException.class);
        walker.no("pollEvent(closed " + id + ")", id::pollEvent, IllegalStateException.class);
        walker.no("localPort(closed " + id + ")", id::localPort, IllegalStateException.class);
        Looks.random(walker, id, IllegalStateException.class);
        walker.close(other);
    }

    private CmId listener(EventChannel channel) {
        CmId listener = id(channel, PortSpace.TCP);
        walker.done("bind(" + any() + ")", () -> listener.bind(any()));
        walker.done("listen(4)", () -> listener.listen(4));
        return listener;
    }

    private void connection() {
        EventChannel channel = channel();
        CmId listener = listener(channel);
        CmId client = id(channel, PortSpace.TCP);
        InetSocketAddress target = listener.localAddress();
        if (walker.chance(3)) {
            List<AddressInfo> found = walker.ok(
                    "AddressInfo.lookup(" + target + ")",
                    () -> AddressInfo.lookup(
                            address.getHostAddress(),
                            Integer.toString(target.getPort()),
                            AddressInfo.Hints.active(AddressInfo.Format.IP, PortSpace.TCP)
                                    .withNoRoute(true),
                            PATIENCE));
            Looks.random(walker, found.getFirst());
            RdmaException failure = new RdmaException("rdma_resolve_addr", "nothing", 19);
            walker.ok("explain(" + failure + ")", () -> found.getFirst().explain(failure));
            if (walker.chance(2)) {
                walker.done(
                        "resolveAddress(" + found.getFirst() + ")",
                        () -> client.resolveAddress(found.getFirst(), PATIENCE));
            } else {
                walker.done(
                        "startResolveAddress(" + found.getFirst() + ")",
                        () -> client.startResolveAddress(found.getFirst(), PATIENCE));
                walker.ok("expectEvent(ADDR_RESOLVED)", () -> client.expectEvent(CmEvent.Type.ADDR_RESOLVED, PATIENCE));
            }
        } else {
            walker.done("resolveAddress(" + target + ")", () -> client.resolveAddress(null, target, PATIENCE));
        }
        if (walker.chance(2)) {
            walker.done("resolveRoute()", () -> client.resolveRoute(PATIENCE));
        } else {
            walker.done("startResolveRoute()", () -> client.startResolveRoute(PATIENCE));
            walker.ok("expectEvent(ROUTE_RESOLVED)", () -> client.expectEvent(CmEvent.Type.ROUTE_RESOLVED, PATIENCE));
        }
        walker.no(
                "connect(57 bytes)",
                () -> client.connect(
                        parameters().toBuilder().privateData(new byte[57]).build()),
                IllegalArgumentException.class);
        byte[] data = new byte[walker.below(57)];
        walker.random.nextBytes(data);
        ConnectionParameters parameters =
                parameters().toBuilder().privateData(data).build();
        walker.done("connect(" + parameters + ")", () -> client.connect(parameters));
        CmEvent request = walker.ok(
                "expectEvent(CONNECT_REQUEST)", () -> listener.expectEvent(CmEvent.Type.CONNECT_REQUEST, PATIENCE));
        CmId server = walker.walk.made(request.id());
        walker.requireEqual(request.listenId(), listener, "listener of " + request);
        byte[] came = java.util.Arrays.copyOf(request.privateData(), data.length);
        walker.require(java.util.Arrays.equals(came, data), "private data of " + request + " are not those sent");
        Looks.random(walker, request);
        Looks.random(walker, server, IllegalStateException.class);
        if (walker.chance(3)) {
            walker.no("reject(149 bytes)", () -> server.reject(new byte[149]), IllegalArgumentException.class);
            walker.done("reject()", () -> server.reject(new byte[3]));
            walker.no(
                    "expectEvent(CONNECT_RESPONSE)",
                    () -> client.expectEvent(CmEvent.Type.CONNECT_RESPONSE, PATIENCE),
                    UnexpectedCmEventException.class);
            walker.no("accept(rejected)", () -> server.accept(parameters()), RdmaException.class);
        } else {
            walker.no(
                    "accept(no queue pair)",
                    () -> server.accept(ConnectionParameters.defaults()),
                    IllegalStateException.class);
            walker.done("accept()", () -> server.accept(parameters()));
            CmEvent response = walker.ok(
                    "expectEvent(CONNECT_RESPONSE)", () -> client.expectEvent(CmEvent.Type.CONNECT_RESPONSE, PATIENCE));
            Looks.random(walker, response);
            walker.ok("initQueuePairAttributes(RTR)", () -> client.initQueuePairAttributes(QpState.RTR));
            walker.done("establish()", client::establish);
            walker.ok("expectEvent(ESTABLISHED)", () -> server.expectEvent(CmEvent.Type.ESTABLISHED, PATIENCE));
            if (walker.chance(2)) {
                walker.done("disconnect()", client::disconnect);
                walker.ok("expectEvent(DISCONNECTED)", () -> server.expectEvent(CmEvent.Type.DISCONNECTED, PATIENCE));
                walker.done("disconnect()", server::disconnect);
                walker.ok("expectEvent(DISCONNECTED)", () -> client.expectEvent(CmEvent.Type.DISCONNECTED, PATIENCE));
            }
        }
        List<CmId> ids = new java.util.ArrayList<>(List.of(server, client, listener));
        java.util.Collections.shuffle(ids, walker.random);
        ids.forEach(walker::close);
        walker.no("connect(closed)", () -> client.connect(parameters()), IllegalStateException.class);
        walker.close(channel);
    }

    private void group() {
        EventChannel channel = channel();
        CmId id = id(channel, PortSpace.UDP);
        walker.no(
                "joinMulticast(without device)",
                () -> id.joinMulticast(InetAddress.getByName("239.77.3.1"), JoinFlag.FULL_MEMBER, PATIENCE),
                IllegalStateException.class);
        walker.done("bind(" + any() + ")", () -> id.bind(any()));
        walker.no(
                "joinMulticast(no group)",
                () -> id.joinMulticast(address, JoinFlag.FULL_MEMBER, PATIENCE),
                IllegalArgumentException.class);
        InetAddress group = walker.ok("239.77.3.2", () -> InetAddress.getByName("239.77.3.2"));
        MulticastMembership membership = walker.made(
                "joinMulticast(" + group + ")", () -> id.joinMulticast(group, JoinFlag.FULL_MEMBER, PATIENCE));
        Looks.all(walker, membership);
        walker.no(
                "joinMulticast(" + group + ", again)",
                () -> id.joinMulticast(group, JoinFlag.FULL_MEMBER, PATIENCE),
                IllegalStateException.class);
        walker.no(
                "joinMulticast(zero)",
                () -> id.joinMulticast(Gid.parse("::"), JoinFlag.FULL_MEMBER, PATIENCE),
                RdmaException.class);
        walker.no("close(" + id + " in use)", id::close, IllegalStateException.class);
        walker.close(membership);
        walker.close(id);
        walker.close(channel);
    }

    private void withQueuePair() {
        EventChannel channel = channel();
        CmId id = id(channel, PortSpace.TCP);
        walker.done("bind(" + any() + ")", () -> id.bind(any()));
        DeviceContext context = walker.ok("context() of " + id, id::context);
        ProtectionDomain pd = walker.made("allocateProtectionDomain()", context::allocateProtectionDomain);
        CompletionQueue queue = walker.made("createCompletionQueue(8)", () -> context.createCompletionQueue(8));
        QueuePairAttributes attributes =
                QueuePairAttributes.builder(QpType.RC).completionQueue(queue).build();
        walker.no(
                "createQueuePair(UD) of " + id,
                () -> id.createQueuePair(
                        pd,
                        QueuePairAttributes.builder(QpType.UD)
                                .completionQueue(queue)
                                .build()),
                IllegalArgumentException.class);
        QueuePair pair = walker.made("createQueuePair() of " + id, () -> id.createQueuePair(pd, attributes));
        walker.requireEqual(walker.ok("queuePair() of " + id, id::queuePair), Optional.of(pair), "queue pair of " + id);
        walker.no(
                "createQueuePair(second) of " + id,
                () -> id.createQueuePair(pd, attributes),
                IllegalStateException.class);
        walker.no("close(" + id + " in use)", id::close, IllegalStateException.class);
        walker.no("close(" + queue + " in use)", queue::close, IllegalStateException.class);
        Looks.random(walker, pair);
        walker.close(pair);
        walker.requireEqual(id.queuePair(), Optional.empty(), "queue pair of " + id);
        walker.close(queue);
        walker.close(pd);
        walker.no(
                "createQueuePair(closed) of " + id,
                () -> id.createQueuePair(pd, attributes),
                IllegalStateException.class);
        walker.close(id);
        walker.close(channel);
    }

    private void values() {
        int wrong = walker.one(-1, 256, Integer.MAX_VALUE);
        ConnectionParameters.Builder builder = ConnectionParameters.builder();
        walker.no(
                "responderResources(" + wrong + ")",
                () -> builder.responderResources(wrong),
                IllegalArgumentException.class);
        walker.no("initiatorDepth(" + wrong + ")", () -> builder.initiatorDepth(wrong), IllegalArgumentException.class);
        walker.no("retryCount(8)", () -> builder.retryCount(8), IllegalArgumentException.class);
        walker.no("rnrRetryCount(8)", () -> builder.rnrRetryCount(8), IllegalArgumentException.class);
        walker.no("qpNumber(-1)", () -> builder.qpNumber(-1), IllegalArgumentException.class);
        walker.no("privateData(256)", () -> builder.privateData(new byte[256]), IllegalArgumentException.class);
        ConnectionParameters made =
                walker.ok("build()", () -> builder.flowControl(true).srq(true).build());
        walker.requireEqual(made.toBuilder().build(), made, "parameters");
        Looks.all(walker, made);
        walker.no(
                "AddressInfo.lookup(no node)",
                () -> AddressInfo.lookup(
                        null, "5", AddressInfo.Hints.active(AddressInfo.Format.IP, PortSpace.TCP), PATIENCE),
                IllegalArgumentException.class);
        AddressInfo.Hints passive =
                walker.ok("Hints.passive()", () -> AddressInfo.Hints.passive(AddressInfo.Format.IP, PortSpace.TCP));
        walker.no("Hints.withSource(passive)", () -> passive.withSource("10.0.0.1"), IllegalArgumentException.class);
        walker.no(
                "AddressInfo.lookup(no GID)",
                () -> AddressInfo.lookup(
                        "zz", "5", AddressInfo.Hints.active(AddressInfo.Format.GID, PortSpace.TCP), PATIENCE),
                IllegalArgumentException.class);
        walker.no(
                "AddressInfo.lookup(no figures)",
                () -> AddressInfo.lookup(
                        "no.figures.example",
                        "5",
                        AddressInfo.Hints.active(AddressInfo.Format.IP, PortSpace.TCP),
                        PATIENCE),
                RdmaException.class,
                IllegalArgumentException.class);
        Looks.all(walker, walker.one(PortSpace.values()));
        Looks.all(walker, walker.one(CmEvent.Type.values()));
    }
}
