package io.rdmatest.walk;

import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.stream.StreamChannel;
import io.rdmatest.stream.StreamEndpoint;
import io.rdmatest.stream.StreamEvent;
import io.rdmatest.stream.StreamEventQueue;
import io.rdmatest.stream.StreamException;
import io.rdmatest.stream.StreamListener;
import io.rdmatest.stream.StreamMode;
import io.rdmatest.stream.StreamOptions;
import io.rdmatest.stream.StreamRequest;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.RawConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.nio.channels.ClosedChannelException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Walks over streams: every byte that is sent comes out at the other end, in order. */
final class Streams {

    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final Walker walker;
    private final DeviceContext context;
    private final GidEntry gid;

    Streams(Walker walker, DeviceContext context, GidEntry gid) {
        this.walker = walker;
        this.context = context;
        this.gid = gid;
    }

    void step() throws Exception {
        if (walker.chance(4)) {
            channel();
        } else if (walker.chance(2)) {
            listened();
        } else {
            unlistened();
        }
    }

    private StreamOptions options() {
        int wrong = walker.one(0, -1, StreamOptions.LEAST_DEPTH - 1, Integer.MAX_VALUE);
        StreamOptions defaults = walker.ok("StreamOptions.defaults()", StreamOptions::defaults);
        walker.no(
                "withSendBufferBytes(" + wrong + ")",
                () -> defaults.withSendBufferBytes(wrong),
                IllegalArgumentException.class);
        walker.no(
                "withReceiveQueueDepth(" + wrong + ")",
                () -> defaults.withReceiveQueueDepth(wrong),
                IllegalArgumentException.class);
        return walker.ok(
                "options",
                () -> defaults.withSendBufferBytes(64 + walker.below(2000))
                        .withReceiveBufferBytes(64 + walker.below(2000))
                        .withSendQueueDepth(8)
                        .withMode(StreamMode.IMMEDIATE)
                        .withReceiveQueueDepth(8));
    }

    private void unlistened() {
        StreamEndpoint a =
                walker.ok("StreamEndpoint.unconnected()", () -> StreamEndpoint.unconnected(context, options()));
        StreamEndpoint b =
                walker.ok("StreamEndpoint.unconnected()", () -> StreamEndpoint.unconnected(context, options()));
        walker.no("send(not started)", () -> a.send(ByteBuffer.allocate(3)), IllegalStateException.class);
        walker.no("localAddress(raw)", a::localAddress, IllegalStateException.class);
        walker.done(
                "RawConnection.connect(streams)",
                () -> RawConnection.connect(
                        a.queuePair(),
                        b.queuePair(),
                        gid.port(),
                        gid.index(),
                        RawConnection.Parameters.DEFAULT.withTimeout(20, 7)));
        walker.no(
                "start(garbage)",
                () -> a.start(new byte[walker.one(0, 5, 24)]),
                StreamException.class,
                IllegalArgumentException.class);
        walker.done("start()", () -> a.start(b.localData()));
        walker.done("start()", () -> b.start(a.localData()));
        walker.no("start(again)", () -> a.start(b.localData()), IllegalStateException.class);
        transfer(a, b);
        closed(a);
        closed(b);
    }

    private void listened() {
        StreamEventQueue serverEvents = walker.ok("StreamEventQueue.create()", StreamEventQueue::create);
        StreamEventQueue clientEvents = walker.ok("StreamEventQueue.create()", StreamEventQueue::create);
        InetAddress address = gid.gid().toInetAddress();
        StreamListener listener = walker.ok(
                "StreamListener.listen()",
                () -> StreamListener.listen(serverEvents, new InetSocketAddress(address, 0), 4, options()));
        Looks.random(walker, listener);
        walker.no("await(0)", () -> clientEvents.await(Duration.ZERO), RdmaTimeoutException.class);
        StreamEndpoint client = walker.ok(
                "StreamEndpoint.connect()",
                () -> StreamEndpoint.connect(clientEvents, null, listener.localAddress(), options(), PATIENCE));
        StreamRequest request =
                walker.ok("await(CONNREQ)", () -> serverEvents.await(PATIENCE)).request();
        if (request == null) {
            throw walker.walk.diverged("no request for a stream", null);
        }
        Looks.all(walker, request);
        if (walker.chance(3)) {
            walker.done("reject()", request::reject);
            walker.no("accept(rejected)", () -> request.accept(), IllegalStateException.class);
            walker.no(
                    "awaitConnected(rejected)",
                    () -> client.awaitConnected(PATIENCE),
                    StreamException.class,
                    io.rdmatest.UnexpectedCmEventException.class);
        } else {
            StreamEndpoint server = walker.ok("accept()", () -> request.accept(options()));
            walker.no("accept(again)", () -> request.accept(), IllegalStateException.class);
            walker.done("awaitConnected()", () -> client.awaitConnected(PATIENCE));
            walker.done("awaitConnected()", () -> server.awaitConnected(PATIENCE));
            StreamEvent event = walker.ok("await(CONNECTED)", () -> clientEvents.await(PATIENCE));
            walker.requireEqual(event.type(), StreamEvent.Type.CONNECTED, "type of " + event);
            transfer(client, server);
            if (walker.chance(2)) {
                walker.done("shutdown()", () -> client.shutdown(PATIENCE));
                walker.no("send(shut down)", () -> client.send(ByteBuffer.allocate(3)), IllegalStateException.class);
                walker.done("awaitReadable(end)", () -> server.awaitReadable(PATIENCE));
                walker.requireEqual(walker.ok("receive(end)", () -> server.receive(ByteBuffer.allocate(3))), -1, "end");
            }
            closed(server);
        }
        closed(client);
        walker.done("close(listener)", listener::close);
        walker.done("close(listener)", listener::close);
        walker.done("close(events)", serverEvents::close);
        walker.done("close(events)", clientEvents::close);
        walker.no("poll(closed events)", serverEvents::poll, IllegalStateException.class);
    }

    /** By the interface that blocks: one thread accepts and sends back what it reads, the other connects. */
    private void channel() throws Exception {
        StreamEventQueue events = walker.ok("StreamEventQueue.create()", StreamEventQueue::create);
        StreamListener listener = walker.ok(
                "StreamListener.listen()",
                () -> StreamListener.listen(
                        events, new InetSocketAddress(gid.gid().toInetAddress(), 0), 4, options()));
        walker.no("accept(0)", () -> listener.accept(Duration.ZERO), RdmaTimeoutException.class);
        byte[] data = new byte[1 + walker.below(5000)];
        walker.random.nextBytes(data);
        Walker other = new Walker(walker.walk, "echo", walker.random.nextLong());
        CompletableFuture<Boolean> echoed = new CompletableFuture<>();
        Thread thread = Thread.ofPlatform().start(() -> {
            try {
                StreamEndpoint endpoint = other.ok("accept()", () -> listener.accept(PATIENCE));
                try (StreamChannel channel = new StreamChannel(endpoint, PATIENCE)) {
                    ByteBuffer part = ByteBuffer.allocate(777);
                    for (int done = 0; done < data.length; part.clear()) {
                        done += other.ok("read(echo)", () -> channel.read(part));
                        int ignored = other.ok("write(echo)", () -> channel.write(part.flip()));
                    }
                    // The end of the stream: what was written is taken by then.
                    boolean ended = other.ok("read(end)", () -> channel.read(part)) == -1;
                    echoed.complete(ended);
                }
            } catch (Throwable e) {
                echoed.completeExceptionally(e);
            }
        });
        StreamChannel channel = walker.ok(
                "StreamChannel.connect()", () -> StreamChannel.connect(listener.localAddress(), options(), PATIENCE));
        ByteBuffer back = ByteBuffer.allocate(data.length);
        for (int done = 0; done < data.length; ) {
            ByteBuffer part = ByteBuffer.wrap(data, done, Math.min(50, data.length - done));
            done += walker.ok("write(" + part.remaining() + ")", () -> channel.write(part));
            while (back.position() < done) {
                int ignored = walker.ok("read(" + back.remaining() + ")", () -> channel.read(back));
            }
        }
        walker.requireEqual(back.flip(), ByteBuffer.wrap(data), "what came back");
        Looks.random(walker, channel);
        walker.done("close(channel)", channel::close);
        walker.done("close(channel)", channel::close);
        walker.no("read(closed channel)", () -> channel.read(back.clear()), ClosedChannelException.class);
        walker.no("write(closed channel)", () -> channel.write(back.clear()), ClosedChannelException.class);
        walker.requireEqual(echoed.get(60, TimeUnit.SECONDS), true, "end of the stream at the echo");
        thread.join();
        walker.done("close(listener)", listener::close);
        walker.done("close(events)", events::close);
    }

    private void closed(StreamEndpoint endpoint) {
        Looks.random(walker, endpoint, IllegalStateException.class);
        walker.done("close(" + endpoint + ")", endpoint::close);
        walker.done("close(" + endpoint + ")", endpoint::close);
        walker.no("send(closed)", () -> endpoint.send(ByteBuffer.allocate(1)), IllegalStateException.class);
        walker.no("receive(closed)", () -> endpoint.receive(ByteBuffer.allocate(1)), IllegalStateException.class);
        walker.no("available(closed)", endpoint::available, IllegalStateException.class);
        walker.no("await(closed)", () -> endpoint.awaitWritable(PATIENCE), IllegalStateException.class);
        walker.no("tryWait(closed)", endpoint::tryWait, IllegalStateException.class);
    }

    private void transfer(StreamEndpoint from, StreamEndpoint to) {
        Deque<Byte> under = new ArrayDeque<>();
        walker.no(
                "receive(read-only)",
                () -> to.receive(ByteBuffer.allocate(1).asReadOnlyBuffer()),
                ReadOnlyBufferException.class);
        walker.no("await(nothing)", () -> to.await(false, false, PATIENCE), IllegalArgumentException.class);
        walker.no("awaitReadable(0)", () -> to.awaitReadable(Duration.ZERO), RdmaTimeoutException.class);
        for (int i = 5 + walker.below(40); i > 0; i--) {
            switch (walker.below(4)) {
                case 0, 1 -> {
                    ByteBuffer data = walker.chance(2)
                            ? ByteBuffer.allocate(1 + walker.below(300))
                            : ByteBuffer.allocateDirect(1 + walker.below(300));
                    byte first = (byte) walker.random.nextInt();
                    for (int at = 0; at < data.capacity(); at++) {
                        data.put(at, (byte) (first + at * 7));
                    }
                    int sent = walker.ok("send(" + data.capacity() + ")", () -> from.send(data));
                    walker.requireEqual(data.position(), sent, "position after sending");
                    for (int at = 0; at < sent; at++) {
                        under.add(data.get(at));
                    }
                }
                case 2 -> receive(to, under);
                default -> {
                    boolean ignored =
                            walker.ok("peekSend()", from::peekSend) && walker.ok("peekReceive()", to::peekReceive);
                    int available = walker.ok("available()", to::available);
                    walker.require(available <= under.size(), available + " bytes are there of " + under.size());
                    Looks.random(walker, to, IllegalStateException.class);
                }
            }
        }
        while (!under.isEmpty()) {
            walker.done("awaitReadable()", () -> to.awaitReadable(PATIENCE));
            receive(to, under);
            if (walker.walk.stopped()) {
                return;
            }
        }
    }

    private void receive(StreamEndpoint to, Deque<Byte> under) {
        ByteBuffer into = ByteBuffer.allocate(1 + walker.below(400));
        int received = walker.ok("receive(" + into.capacity() + ")", () -> to.receive(into));
        for (int at = 0; at < received; at++) {
            walker.requireEqual(into.get(at), under.poll(), "byte " + at + " of " + received + " at " + to);
        }
    }
}
