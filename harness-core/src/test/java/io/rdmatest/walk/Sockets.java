package io.rdmatest.walk;

import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.cm.AddressInfo;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.rsocket.IoMapping;
import io.rdmatest.rsocket.MessageFlag;
import io.rdmatest.rsocket.RSocket;
import io.rdmatest.rsocket.Shutdown;
import io.rdmatest.verbs.GidEntry;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Walks over rsockets: options and states without a connection, and connections whose bytes are compared. */
final class Sockets {

    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final Walker walker;
    private final InetAddress address;

    Sockets(Walker walker, GidEntry gid) {
        this.walker = walker;
        this.address = gid.gid().toInetAddress();
    }

    private InetSocketAddress any() {
        return new InetSocketAddress(address, 0);
    }

    void step() throws Exception {
        if (walker.chance(4)) {
            connected();
        } else {
            unconnected();
        }
    }

    private RSocket socket() {
        return walker.made("RSocket.stream()", RSocket::stream);
    }

    private void options(RSocket socket) {
        int value = walker.one(0, 1, 100, 4096, 65_536, -1, Integer.MIN_VALUE, Integer.MAX_VALUE);
        Class<RdmaException> refused = RdmaException.class;
        Class<IllegalArgumentException> wrong = IllegalArgumentException.class;
        Object ignored = switch (walker.below(9)) {
            case 0 -> walker.maybe("sendBufferSize(" + value + ")", () -> socket.sendBufferSize(value), refused, wrong);
            case 1 ->
                walker.maybe("receiveBufferSize(" + value + ")", () -> socket.receiveBufferSize(value), refused, wrong);
            case 2 -> walker.maybe("inline(" + value + ")", () -> socket.inline(value), refused, wrong);
            case 3 -> walker.maybe("sendQueueSize(" + value + ")", () -> socket.sendQueueSize(value), refused, wrong);
            case 4 ->
                walker.maybe("receiveQueueSize(" + value + ")", () -> socket.receiveQueueSize(value), refused, wrong);
            case 5 -> walker.maybe("ioMapSize(" + value + ")", () -> socket.ioMapSize(value), refused, wrong);
            case 6 -> walker.ok("noDelay(true)", () -> socket.noDelay(true));
            case 7 -> walker.ok("reuseAddress(true)", () -> socket.reuseAddress(true));
            default ->
                walker.maybe(
                        "keepAlive(" + value + " s)",
                        () -> socket.keepAlive(Duration.ofSeconds(value)),
                        refused,
                        wrong);
        };
        Looks.random(walker, socket, IllegalStateException.class, RdmaException.class);
    }

    private void unconnected() {
        RSocket socket = walker.chance(4)
                ? walker.made("RSocket.stream(INET6)", () -> RSocket.stream(StandardProtocolFamily.INET6))
                : socket();
        ByteBuffer bytes = ByteBuffer.allocate(10);
        for (int i = walker.below(10); i > 0; i--) {
            options(socket);
        }
        walker.no(
                "RSocket.stream(UNIX)",
                () -> RSocket.stream(StandardProtocolFamily.UNIX),
                IllegalArgumentException.class);
        walker.no("send(unconnected)", () -> socket.send(bytes, PATIENCE), RdmaException.class);
        walker.no("receive(unconnected)", () -> socket.receive(bytes, PATIENCE), RdmaException.class);
        walker.no("shutdown(unconnected)", () -> socket.shutdown(Shutdown.BOTH), RdmaException.class);
        walker.no("accept(unbound)", () -> socket.accept(PATIENCE), RdmaException.class);
        walker.no("listen(unbound)", () -> socket.listen(1), RdmaException.class);
        walker.no("listen(0)", () -> socket.listen(0), IllegalArgumentException.class);
        walker.no("remoteAddress(unconnected)", socket::remoteAddress, RdmaException.class);
        walker.no("awaitReadable(unconnected)", () -> socket.awaitReadable(PATIENCE), RdmaException.class);
        walker.no("awaitWritable(unconnected)", () -> socket.awaitWritable(PATIENCE), RdmaException.class);
        walker.no("ioMap(unconnected)", () -> socket.ioMap(10, 0), RdmaException.class);
        walker.no(
                "ioWrite(unconnected)",
                () -> socket.ioWrite(MemorySegment.ofArray(new byte[4]), 0, PATIENCE),
                RdmaException.class);
        if (socket.toString().length() > 0 && walker.chance(2)) {
            boolean bound = walker.maybeDone("bind(" + any() + ")", () -> socket.bind(any()), RdmaException.class);
            if (bound) {
                walker.no("bind(again)", () -> socket.bind(any()), RdmaException.class);
                boolean listening = walker.maybeDone("listen(2)", () -> socket.listen(2), RdmaException.class);
                if (listening) {
                    walker.no("accept(0)", () -> socket.accept(Duration.ZERO), RdmaTimeoutException.class);
                    walker.no("connect(listening)", () -> socket.connect(any(), PATIENCE), RdmaException.class);
                    walker.no("listen(again)", () -> socket.listen(2), RdmaException.class);
                }
            }
        }
        walker.close(socket);
        walker.no("bind(closed)", () -> socket.bind(any()), IllegalStateException.class);
        walker.no("noDelay(closed)", () -> socket.noDelay(true), IllegalStateException.class);
        walker.no("localAddress(closed)", socket::localAddress, IllegalStateException.class);
        walker.no("send(closed)", () -> socket.send(bytes, PATIENCE), IllegalStateException.class);
        walker.no("receive(closed)", () -> socket.receive(bytes, PATIENCE), IllegalStateException.class);
        walker.no("accept(closed)", () -> socket.accept(PATIENCE), IllegalStateException.class);
        walker.no("shutdown(closed)", () -> socket.shutdown(Shutdown.READ), IllegalStateException.class);
    }

    private void connected() throws Exception {
        RSocket listener = socket();
        Object ignored = walker.ok("ioMapSize(4)", () -> listener.ioMapSize(4));
        walker.done("bind(" + any() + ")", () -> listener.bind(any()));
        walker.done("listen(2)", () -> listener.listen(2));
        InetSocketAddress target = walker.ok("localAddress()", listener::localAddress);
        RSocket client = socket();
        AddressInfo info = walker.ok(
                "AddressInfo.lookup(" + target + ")",
                () -> AddressInfo.lookup(
                                address.getHostAddress(),
                                Integer.toString(target.getPort()),
                                AddressInfo.Hints.active(AddressInfo.Format.IP, PortSpace.TCP)
                                        .withNoRoute(true),
                                PATIENCE)
                        .getFirst());
        ignored = walker.ok("route(" + info + ")", () -> client.route(info));
        ignored = walker.ok("ioMapSize(4)", () -> client.ioMapSize(4));
        Walker other = new Walker(walker.walk, "accepting", walker.random.nextLong());
        CompletableFuture<RSocket> accepted = new CompletableFuture<>();
        Thread thread = Thread.ofPlatform().start(() -> {
            try {
                accepted.complete(other.made("accept(" + listener + ")", () -> listener.accept(PATIENCE)));
            } catch (Throwable e) {
                accepted.completeExceptionally(e);
            }
        });
        walker.done("connect(" + target + ")", () -> client.connect(target, PATIENCE));
        RSocket server = accepted.get(60, TimeUnit.SECONDS);
        thread.join();
        walker.no("connect(again)", () -> client.connect(target, PATIENCE), RdmaException.class);
        for (int i = 3 + walker.below(20); i > 0; i--) {
            if (walker.chance(2)) {
                transfer(client, server);
            } else {
                transfer(server, client);
            }
        }
        if (walker.chance(2)) {
            mapping(client, server);
        }
        walker.no(
                "receive(nothing there)",
                () -> server.receive(ByteBuffer.allocate(5), Duration.ZERO),
                RdmaTimeoutException.class);
        walker.requireEqual(
                walker.ok(
                        "receive(DONTWAIT)",
                        () -> server.receive(ByteBuffer.allocate(5), PATIENCE, MessageFlag.DONTWAIT)),
                0,
                "received bytes");
        walker.no(
                "receive(PEEK and WAITALL)",
                () -> server.receive(ByteBuffer.allocate(5), PATIENCE, MessageFlag.PEEK, MessageFlag.WAITALL),
                IllegalArgumentException.class);
        walker.no(
                "receive(read-only)",
                () -> server.receive(ByteBuffer.allocate(5).asReadOnlyBuffer(), PATIENCE),
                IllegalArgumentException.class);
        walker.no(
                "send(PEEK)",
                () -> client.send(ByteBuffer.allocate(5), PATIENCE, MessageFlag.PEEK),
                IllegalArgumentException.class);
        walker.requireEqual(
                walker.ok("awaitReadable(0)", () -> server.awaitReadable(Duration.ZERO)), false, "readable");
        walker.requireEqual(walker.ok("awaitWritable()", () -> server.awaitWritable(PATIENCE)), true, "writable");
        closedSegment(client);
        if (walker.chance(2)) {
            walker.done("shutdown(WRITE)", () -> client.shutdown(Shutdown.WRITE));
            walker.no("send(after shutdown)", () -> client.send(ByteBuffer.allocate(5), PATIENCE), RdmaException.class);
            walker.requireEqual(
                    walker.ok("receive(end)", () -> server.receive(ByteBuffer.allocate(5), PATIENCE)), -1, "end");
        }
        walker.close(client);
        walker.close(server);
        walker.close(listener);
    }

    private void transfer(RSocket from, RSocket to) {
        int length = 1 + walker.below(walker.chance(8) ? 40_000 : 300);
        byte[] data = new byte[length];
        walker.random.nextBytes(data);
        ByteBuffer into = walker.chance(2) ? ByteBuffer.allocateDirect(length) : ByteBuffer.allocate(length);
        if (walker.chance(2)) {
            walker.done("sendFully(" + length + ")", () -> from.sendFully(ByteBuffer.wrap(data), PATIENCE));
            walker.done("receiveFully(" + length + ")", () -> to.receiveFully(into, PATIENCE));
        } else {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment segment = arena.allocate(length);
                segment.copyFrom(MemorySegment.ofArray(data));
                walker.done("sendFully(" + length + ", native)", () -> from.sendFully(segment, PATIENCE));
                walker.done(
                        "receiveFully(" + length + ", native)",
                        () -> to.receiveFully(MemorySegment.ofBuffer(into), PATIENCE));
            }
        }
        into.clear();
        walker.requireEqual(into, ByteBuffer.wrap(data), "bytes that arrived at " + to);
    }

    private void mapping(RSocket client, RSocket server) {
        walker.no("ioMap(0)", () -> server.ioMap(0, 0), IllegalArgumentException.class);
        walker.no("ioMap(offset -2)", () -> server.ioMap(10, -2), IllegalArgumentException.class);
        IoMapping mapping = walker.made("ioMap(4096, 0)", () -> server.ioMap(4096, 0));
        walker.no("close(" + server + " in use)", server::close, IllegalStateException.class);
        // A byte behind the announcement tells that it has arrived.
        transfer(server, client);
        byte[] data = new byte[1 + walker.below(2000)];
        walker.random.nextBytes(data);
        walker.done("ioWrite(" + data.length + ")", () -> client.ioWrite(MemorySegment.ofArray(data), 64, PATIENCE));
        transfer(client, server);
        walker.requireEqual(
                mapping.bytes().asSlice(64, data.length).mismatch(MemorySegment.ofArray(data)), -1L, "mismatch");
        walker.no(
                "ioWrite(-1)",
                () -> client.ioWrite(MemorySegment.ofArray(data), -1, PATIENCE),
                IllegalArgumentException.class);
        walker.no(
                "ioWrite(unmapped)",
                () -> client.ioWrite(MemorySegment.ofArray(data), 1 << 20, PATIENCE),
                RdmaException.class);
        Looks.all(walker, mapping);
        walker.close(mapping);
        walker.no(
                "bytes().get(closed mapping)",
                () -> {
                    byte ignored = mapping.bytes().get(java.lang.foreign.ValueLayout.JAVA_BYTE, 0);
                },
                IllegalStateException.class);
        // The peer has to hear of the end of the mapping before anything else is written there.
        transfer(server, client);
    }

    private void closedSegment(RSocket socket) {
        MemorySegment gone;
        try (Arena arena = Arena.ofConfined()) {
            gone = arena.allocate(10);
        }
        walker.no("send(closed segment)", () -> socket.send(gone, PATIENCE), IllegalStateException.class);
        walker.no("receive(closed segment)", () -> socket.receive(gone, PATIENCE), IllegalStateException.class);
    }
}
