package io.rdmatest.stream;

import static io.rdmatest.stream.StreamFixture.ANY_PORT;
import static io.rdmatest.stream.StreamFixture.SHORT;
import static io.rdmatest.stream.StreamFixture.TIMEOUT;
import static io.rdmatest.stream.StreamFixture.assertFilled;
import static io.rdmatest.stream.StreamFixture.receiveAll;
import static io.rdmatest.stream.StreamFixture.sendAll;
import static io.rdmatest.stream.StreamFixture.sendSome;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import io.rdmatest.Closer;
import io.rdmatest.DeviceUnderTest;
import io.rdmatest.EmptyLedger;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.WholeLedger;
import io.rdmatest.internal.linux.Descriptors;
import io.rdmatest.stream.StreamException.Reason;
import io.rdmatest.stream.StreamFixture.Pair;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.nio.channels.Channels;
import java.nio.channels.ClosedChannelException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Both ends of a stream are ours, in this JVM. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@WholeLedger
@ExtendWith(EmptyLedger.class)
class StreamIT {

    private final ExecutorService threads = Executors.newCachedThreadPool();

    @AfterEach
    void endThreads() throws InterruptedException {
        threads.shutdownNow();
        assertThat(threads.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    }

    private static StreamOptions options(StreamMode mode) {
        return StreamOptions.defaults().withMode(mode);
    }

    private static void await(List<Future<?>> futures) throws Exception {
        for (Future<?> future : futures) {
            Object ignored = future.get(60, TimeUnit.SECONDS);
        }
    }

    private Future<?> start(Callable<?> action) {
        return threads.submit(action);
    }

    /** What fabtests' fi_stream_msg does: the server speaks first, the client sends it back. */
    @ParameterizedTest
    @EnumSource
    void theServersGreetingComesBack(StreamMode mode) {
        try (Pair pair = Pair.connect(options(mode))) {
            ByteBuffer hello = ByteBuffer.wrap("hello stream!".getBytes(StandardCharsets.US_ASCII));
            assertThat(pair.server().send(hello)).isEqualTo(13);
            ByteBuffer echo = ByteBuffer.allocate(64);
            pair.client().awaitReadable(TIMEOUT);
            assertThat(pair.client().receive(echo)).isEqualTo(13);
            assertThat(pair.client().send(echo.flip())).isEqualTo(13);
            ByteBuffer back = ByteBuffer.allocateDirect(64);
            pair.server().awaitReadable(TIMEOUT);
            assertThat(pair.server().receive(back)).isEqualTo(13);
            assertThat(StandardCharsets.US_ASCII.decode(back.flip()).toString()).isEqualTo("hello stream!");
            assertThat(pair.server().receive(back.clear())).isZero();
        }
    }

    @ParameterizedTest
    @EnumSource
    void fillsThePeersRingToTheLastByteAndGoesOnWhenItIsRead(StreamMode mode) {
        try (Pair pair = Pair.connect(options(mode))) {
            assertThat(sendSome(pair.client(), 0, 100_000)).isEqualTo(32_768);
            assertThat(sendSome(pair.client(), 32_768, 1)).isZero();
            assertThat(pair.client().peekSend()).isFalse();
            assertThatThrownBy(() -> pair.client().awaitWritable(SHORT))
                    .isInstanceOf(RdmaTimeoutException.class)
                    .hasMessageContaining("32768 in the peer's ring");
            pair.server().awaitReadable(TIMEOUT);
            assertThat(pair.server().available()).isEqualTo(32_768);

            // Less than half: nothing is given back yet.
            receiveAll(pair.server(), 0, 16_383, 10_000);
            assertThat(pair.client().peekSend()).isFalse();
            receiveAll(pair.server(), 16_383, 1, 1);
            pair.client().awaitWritable(TIMEOUT);
            assertThat(sendSome(pair.client(), 32_768, 100_000)).isEqualTo(16_384);
            assertThat(sendSome(pair.client(), 49_152, 1)).isZero();
            receiveAll(pair.server(), 16_384, 32_768, 32_768);
            sendAll(pair.client(), 49_152, 32_768, 32_768);
            receiveAll(pair.server(), 49_152, 32_768, 32_768);
        }
    }

    @ParameterizedTest
    @EnumSource
    void keepsEveryByteInOrderAcrossWrapsOfRingsOfAllSizes(StreamMode mode) {
        SplittableRandom random = new SplittableRandom(mode.ordinal());
        for (int[] rings : new int[][] {{16, 16}, {16, 33}, {100, 17}, {1000, 999}, {4096, 1_048_575}}) {
            StreamOptions options = options(mode)
                    .withSendBufferBytes(rings[0])
                    .withReceiveBufferBytes(rings[1])
                    .withSendQueueDepth(random.nextInt(4, 64))
                    .withReceiveQueueDepth(random.nextInt(4, 64));
            try (Pair pair = Pair.connect(options)) {
                long sent = 0;
                long received = 0;
                ByteBuffer in = ByteBuffer.allocate(3000);
                long total = 60L * Math.min(rings[0], rings[1]);
                long deadline = System.nanoTime() + TIMEOUT.toNanos();
                while (received < total) {
                    int most = (int) Math.min(1 + random.nextInt(2 * rings[0]), total - sent);
                    if (most > 0) {
                        // The last one announces no more: nobody would write what it held back.
                        boolean more = sent + most < total && random.nextBoolean();
                        sent += sendSome(pair.client(), sent, most, more);
                    }
                    in.clear().limit(1 + random.nextInt(in.capacity()));
                    int now = pair.server().receive(in);
                    assertFilled(in.flip(), received);
                    received += now;
                    assertThat(System.nanoTime() - deadline)
                            .as("bytes " + received)
                            .isNegative();
                }
                assertThat(received).isEqualTo(sent);
            }
        }
    }

    /** 382 of 384 credits are for data: so many bytes go, though the ring has room for 32768. */
    @ParameterizedTest
    @EnumSource
    void singleBytesAreBoundByCreditsNotByTheRing(StreamMode mode) {
        try (Pair pair = Pair.connect(options(mode).withSendQueueDepth(1000), options(mode))) {
            int sent = 0;
            while (sendSome(pair.client(), sent, 1) == 1) {
                sent++;
            }
            assertThat(sent).isEqualTo(382);
            receiveAll(pair.server(), 0, 382, 1);
            for (int i = 0; i < 2000; i++) {
                sendAll(pair.client(), 382 + i, 1, 1);
                if (i % 100 == 99) {
                    receiveAll(pair.server(), 382 + i - 99, 100, 7);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void singleBytesAreBoundByTheSendQueueToo(StreamMode mode) {
        StreamOptions shallow = options(mode).withSendQueueDepth(4).withReceiveQueueDepth(4);
        try (Pair pair = Pair.connect(shallow)) {
            Future<?> receiver = start(() -> {
                receiveAll(pair.server(), 0, 3000, 100);
                return null;
            });
            sendAll(pair.client(), 0, 3000, 1);
            await(List.of(receiver));
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    @ParameterizedTest
    @EnumSource
    void aStarvedSenderGoesOnWhenTheReceiverReads(StreamMode mode) throws Exception {
        try (Pair pair = Pair.connect(options(mode).withSendBufferBytes(70_000), options(mode))) {
            Future<?> sender = start(() -> {
                sendAll(pair.client(), 0, 600_000, 25_000);
                return null;
            });
            ByteBuffer in = ByteBuffer.allocate(500);
            for (int received = 0; received < 600_000; ) {
                // The sender has no room left, but for what was read and not yet given back.
                if (received % 50_000 < 500) {
                    long deadline = System.nanoTime() + TIMEOUT.toNanos();
                    while (pair.server().available() < Math.min(16_384, 600_000 - received)) {
                        assertThat(System.nanoTime() - deadline).isNegative();
                        Thread.onSpinWait();
                    }
                }
                in.clear();
                if (pair.server().receive(in) == 0) {
                    pair.server().awaitReadable(TIMEOUT);
                }
                assertFilled(in.flip(), received);
                received += in.limit();
            }
            await(List.of(sender));
        }
    }

    @ParameterizedTest
    @EnumSource
    void bothDirectionsSaturatedComeFreeAgain(StreamMode mode) {
        StreamOptions options =
                options(mode).withSendQueueDepth(8).withReceiveQueueDepth(8).withReceiveBufferBytes(500);
        try (Pair pair = Pair.connect(options)) {
            long[] sent = new long[2];
            long[] received = new long[2];
            StreamEndpoint[] ends = {pair.client(), pair.server()};
            for (int round = 0; round < 20; round++) {
                int piece = round % 2 == 0 ? 1 : 2000;
                // As much as goes in both directions, before anybody receives.
                for (int idle = 0; idle < 3; idle++) {
                    for (int side = 0; side < 2; side++) {
                        int now = sendSome(ends[side], sent[side], piece);
                        sent[side] += now;
                        idle = now > 0 ? 0 : idle;
                    }
                }
                for (int side = 0; side < 2; side++) {
                    receiveAll(ends[1 - side], received[side], (int) (sent[side] - received[side]), 170);
                    received[side] = sent[side];
                }
            }
            assertThat(sent[0]).isGreaterThanOrEqualTo(20 * 250);
            assertThat(sent[1]).isGreaterThanOrEqualTo(20 * 250);
        }
    }

    @ParameterizedTest
    @EnumSource
    void fourThreadsSendAndReceiveInBothDirectionsAtOnce(StreamMode mode) throws Exception {
        int total = 1_000_000;
        try (Pair pair = Pair.connect(options(mode))) {
            await(List.of(
                    start(() -> {
                        sendAll(pair.client(), 0, total, 10_007);
                        return null;
                    }),
                    start(() -> {
                        sendAll(pair.server(), 5, total, 40_009);
                        return null;
                    }),
                    start(() -> {
                        receiveAll(pair.client(), 5, total, 9001);
                        return null;
                    }),
                    start(() -> {
                        receiveAll(pair.server(), 0, total, 50_000);
                        return null;
                    })));
        }
    }

    /** Which thread gets which bytes is open; that each byte comes once is not. */
    @ParameterizedTest
    @EnumSource
    void severalThreadsSendAndSeveralReceiveOnOneEnd(StreamMode mode) throws Exception {
        int each = 30_000;
        AtomicLongArray counts = new AtomicLongArray(3);
        AtomicLong left = new AtomicLong(3L * each);
        try (Pair pair = Pair.connect(options(mode).withReceiveBufferBytes(5000))) {
            List<Future<?>> work = new ArrayList<>();
            for (int sender = 0; sender < 3; sender++) {
                byte value = (byte) sender;
                work.add(start(() -> {
                    ByteBuffer out = ByteBuffer.allocate(each);
                    while (out.hasRemaining()) {
                        out.put(value);
                    }
                    out.flip();
                    while (out.hasRemaining()) {
                        if (pair.client().send(out) == 0) {
                            pair.client().awaitWritable(TIMEOUT);
                        }
                    }
                    return null;
                }));
                work.add(start(() -> {
                    ByteBuffer in = ByteBuffer.allocate(777);
                    long deadline = System.nanoTime() + 2 * TIMEOUT.toNanos();
                    while (left.get() > 0) {
                        int received = pair.server().receive(in.clear());
                        for (int i = 0; i < received; i++) {
                            counts.getAndIncrement(in.get(i));
                        }
                        if (left.addAndGet(-received) > 0 && received == 0) {
                            Thread.onSpinWait();
                            assertThat(System.nanoTime() - deadline).isNegative();
                        }
                    }
                    return null;
                }));
            }
            await(work);
            for (int i = 0; i < 3; i++) {
                assertThat(counts.get(i)).isEqualTo(each);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void whatArrivedBeforeTheShutdownIsReceivedFirst(StreamMode mode) {
        try (Pair pair = Pair.connect(options(mode))) {
            assertThat(sendSome(pair.client(), 0, 20_000)).isEqualTo(20_000);
            pair.client().shutdown(TIMEOUT);
            assertThatIllegalStateException().isThrownBy(() -> sendSome(pair.client(), 0, 1));
            // The disconnect is there, and nothing of the data was touched.
            awaitOver(pair.server());
            assertThat(pair.serverEvents().poll()).isEmpty();
            assertThatThrownBy(() -> sendSome(pair.server(), 0, 1))
                    .isInstanceOfSatisfying(
                            StreamException.class, e -> assertThat(e.reason()).isEqualTo(Reason.PEER_SHUT_DOWN));

            receiveAll(pair.server(), 0, 19_999, 3000);
            assertThat(pair.serverEvents().poll()).isEmpty();
            assertThat(pair.server().peekReceive()).isTrue();
            receiveAll(pair.server(), 19_999, 1, 1);
            assertThat(pair.serverEvents().poll()).contains(StreamEvent.of(StreamEvent.Type.SHUTDOWN, pair.server()));
            pair.server().awaitReadable(SHORT);
            assertThat(pair.server().receive(ByteBuffer.allocate(10))).isEqualTo(-1);
            assertThat(pair.server().receive(ByteBuffer.allocate(10))).isEqualTo(-1);
            assertThat(pair.serverEvents().poll()).isEmpty();

            assertThat(pair.clientEvents().await(TIMEOUT))
                    .isEqualTo(StreamEvent.of(StreamEvent.Type.SHUTDOWN, pair.client()));
            assertThat(pair.client().receive(ByteBuffer.allocate(10))).isEqualTo(-1);
            pair.client().shutdown(TIMEOUT);
            pair.server().shutdown(TIMEOUT);
        }
    }

    private static void awaitOver(StreamEndpoint endpoint) {
        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        while (endpoint.isConnected()) {
            endpoint.eventQueue().pump();
            assertThat(System.nanoTime() - deadline).as("the disconnect").isNegative();
            Thread.onSpinWait();
        }
    }

    @Test
    void bothSidesMayShutDownAtOnce() throws Exception {
        try (Pair pair = Pair.connect(StreamOptions.defaults())) {
            assertThat(sendSome(pair.client(), 0, 100)).isEqualTo(100);
            Future<?> other = start(() -> {
                pair.server().shutdown(TIMEOUT);
                return null;
            });
            pair.client().shutdown(TIMEOUT);
            await(List.of(other));
            assertThat(pair.clientEvents().await(TIMEOUT).type()).isEqualTo(StreamEvent.Type.SHUTDOWN);
            assertThat(pair.client().receive(ByteBuffer.allocate(1))).isEqualTo(-1);
        }
    }

    @Test
    void closingWithoutShutdownEndsThePeersStreamToo() {
        try (Pair pair = Pair.connect(StreamOptions.defaults())) {
            pair.client().close();
            pair.server().awaitReadable(TIMEOUT);
            assertThat(pair.server().receive(ByteBuffer.allocate(1))).isEqualTo(-1);
            assertThat(pair.serverEvents().await(TIMEOUT).type()).isEqualTo(StreamEvent.Type.SHUTDOWN);
            assertThatIllegalStateException()
                    .isThrownBy(() -> sendSome(pair.client(), 0, 1))
                    .withMessageContaining("closed");
        }
    }

    @ParameterizedTest
    @EnumSource
    void peeksAtBothDirections(StreamMode mode) {
        try (Pair pair = Pair.connect(options(mode).withReceiveBufferBytes(100))) {
            assertThat(pair.client().peekSend()).isTrue();
            assertThat(pair.server().peekReceive()).isFalse();
            assertThat(sendSome(pair.client(), 0, 100)).isEqualTo(100);
            assertThat(pair.client().peekSend()).isFalse();
            pair.server().awaitReadable(TIMEOUT);
            assertThat(pair.server().peekReceive()).isTrue();
            assertThat(pair.server().peekReceive()).isTrue();
            assertThat(pair.server().peekSend()).isTrue();
            receiveAll(pair.server(), 0, 100, 100);
            assertThat(pair.server().peekReceive()).isFalse();
            pair.client().awaitWritable(TIMEOUT);
            assertThat(pair.client().peekSend()).isTrue();
        }
    }

    @ParameterizedTest
    @EnumSource
    void theDescriptorBecomesReadableWhenDataComes(StreamMode mode) throws Exception {
        try (Pair pair = Pair.connect(options(mode))) {
            StreamEndpoint server = pair.server();
            Descriptors descriptor = new Descriptors(server.fileDescriptor());
            assertThat(server.tryWait()).isTrue();
            assertThat(descriptor.awaitReadable(50)).isFalse();
            Future<?> sender = start(() -> sendSome(pair.client(), 0, 10));
            assertThat(descriptor.awaitReadable(15_000)).isTrue();
            await(List.of(sender));
            receiveAll(server, 0, 10, 10);
            long deadline = System.nanoTime() + TIMEOUT.toNanos();
            while (!server.tryWait()) {
                assertThat(System.nanoTime() - deadline).isNegative();
            }
            assertThat(descriptor.awaitReadable(0)).isFalse();

            Descriptors events = new Descriptors(pair.serverEvents().fileDescriptor());
            assertThat(events.awaitReadable(0)).isFalse();
            pair.client().shutdown(TIMEOUT);
            assertThat(events.awaitReadable(15_000)).isTrue();
            assertThat(pair.serverEvents().await(TIMEOUT).type()).isEqualTo(StreamEvent.Type.SHUTDOWN);
        }
    }

    @Test
    void theDescriptorIsNotWaitedForWhenAnotherCallMetTheData() throws Exception {
        try (Pair pair = Pair.connect(StreamOptions.defaults())) {
            StreamEndpoint server = pair.server();
            assertThat(server.receive(ByteBuffer.allocate(10))).isZero();
            assertThat(sendSome(pair.client(), 0, 10)).isEqualTo(10);
            Future<?> other = start(() -> {
                long deadline = System.nanoTime() + TIMEOUT.toNanos();
                while (server.available() == 0) {
                    assertThat(System.nanoTime() - deadline).isNegative();
                }
                return null;
            });
            await(List.of(other));
            assertThat(server.tryWait()).isFalse();
            assertThat(server.tryWait()).isFalse();
            receiveAll(server, 0, 10, 10);
            assertThat(server.tryWait()).isTrue();
        }
    }

    @Test
    void theDescriptorIsNotWaitedForWhenAnotherCallMetTheRoom() throws Exception {
        StreamOptions small = StreamOptions.defaults().withReceiveBufferBytes(1000);
        try (Pair pair = Pair.connect(small)) {
            StreamEndpoint client = pair.client();
            assertThat(sendSome(client, 0, 2000)).isEqualTo(1000);
            assertThat(sendSome(client, 1000, 1)).isZero();
            receiveAll(pair.server(), 0, 1000, 1000);
            long deadline = System.nanoTime() + TIMEOUT.toNanos();
            // What gives the room back is a message without data.
            while (client.queuePair().work().receivesCompleted() == 0) {
                assertThat(client.receive(ByteBuffer.allocate(10))).isZero();
                assertThat(System.nanoTime() - deadline).isNegative();
            }
            assertThat(client.tryWait()).isFalse();
            assertThat(client.peekSend()).isTrue();
        }
    }

    /** Devices of iWARP flush what is posted when the peer ends the connection, before the end is told. */
    @Test
    void anOrderlyEndIsOneAlsoWhenTheQueuePairIsFlushedBeforeItIsTold() {
        try (Pair pair = Pair.connect(StreamOptions.defaults())) {
            assertThat(sendSome(pair.client(), 0, 100)).isEqualTo(100);
            pair.client().shutdown(TIMEOUT);
            assertThat(new Descriptors(pair.serverEvents().fileDescriptor()).awaitReadable(15_000))
                    .isTrue();
            pair.server().queuePair().toError();

            receiveAll(pair.server(), 0, 100, 100);
            long deadline = System.nanoTime() + TIMEOUT.toNanos();
            int end;
            do {
                // The device takes its time to flush.
                end = pair.server().receive(ByteBuffer.allocate(10));
                assertThat(System.nanoTime() - deadline).isNegative();
            } while (end == 0);
            assertThat(end).isEqualTo(-1);
        }
    }

    @Test
    void aReaderAndAWriterWaitOnOneEndpointAtOnce() throws Exception {
        try (Pair pair = Pair.connect(StreamOptions.defaults())) {
            assertThat(sendSome(pair.client(), 0, 100_000)).isEqualTo(32_768);
            Future<?> writer = start(() -> {
                pair.client().awaitWritable(TIMEOUT);
                return null;
            });
            Future<?> reader = start(() -> {
                pair.client().awaitReadable(TIMEOUT);
                return null;
            });
            receiveAll(pair.server(), 0, 32_768, 32_768);
            await(List.of(writer));
            assertThat(reader.isDone()).isFalse();
            assertThat(sendSome(pair.server(), 0, 1)).isEqualTo(1);
            await(List.of(reader));
        }
    }

    @Test
    void closingEndsTheWaitOfAnotherThread() throws Exception {
        Pair pair = Pair.connect(StreamOptions.defaults());
        try (pair) {
            Future<?> reader = start(() -> {
                assertThatIllegalStateException().isThrownBy(() -> pair.server().awaitReadable(TIMEOUT));
                return null;
            });
            // Whether the reader waits already makes no difference to what it gets.
            pair.server().close();
            await(List.of(reader));
        }
    }

    @Test
    void sendingAndReceivingAllocateNothing() {
        ThreadMXBean allocations = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        for (StreamMode mode : StreamMode.values()) {
            boolean split = mode == StreamMode.SPLIT;
            // So much that the peer reads a part.
            int size = split ? 40_000 : 1000;
            int ring = split ? 1 << 17 : 1 << 15;
            try (Pair pair =
                    Pair.connect(options(mode).withSendBufferBytes(ring).withReceiveBufferBytes(ring))) {
                ByteBuffer out = ByteBuffer.allocateDirect(size);
                ByteBuffer in = ByteBuffer.allocateDirect(size);
                StreamFixture.fill(out, 0);
                turns(pair, out, in, 3000);
                // A message that allocates does so in each round. The JVM may allocate once, in one of them.
                long least = Long.MAX_VALUE;
                for (int round = 0; round < 4 && least > 0; round++) {
                    long before = allocations.getCurrentThreadAllocatedBytes();
                    turns(pair, out, in, 1000);
                    least = Math.min(least, allocations.getCurrentThreadAllocatedBytes() - before);
                }
                assertThat(least).as(mode.name()).isZero();
            }
        }
    }

    private static void turns(Pair pair, ByteBuffer out, ByteBuffer in, int count) {
        long deadline = System.nanoTime() + 2 * TIMEOUT.toNanos();
        for (int turn = 0; turn < count; turn++) {
            out.clear();
            in.clear();
            while (in.hasRemaining()) {
                int moved = pair.client().send(out) + pair.server().receive(in);
                if (moved == 0 && System.nanoTime() - deadline > 0) {
                    throw new AssertionError("no progress in turn " + turn);
                }
            }
            if (out.clear().mismatch(in.clear()) >= 0) {
                throw new AssertionError("other bytes in turn " + turn);
            }
        }
    }

    @Test
    void nobodyListens() {
        InetSocketAddress target;
        try (StreamEventQueue events = StreamEventQueue.create();
                StreamListener listener = StreamListener.listen(events, ANY_PORT, 1, StreamOptions.defaults())) {
            target = listener.localAddress();
        }
        assertThatThrownBy(() -> StreamEndpoint.connect(target, StreamOptions.defaults(), TIMEOUT))
                .isInstanceOf(UnexpectedCmEventException.class)
                .hasMessageContaining("REJECTED");
        assertThatThrownBy(() -> StreamChannel.connect(target, StreamOptions.defaults(), TIMEOUT))
                .isInstanceOf(IOException.class)
                .hasCauseInstanceOf(UnexpectedCmEventException.class);
    }

    @Test
    void theProgramMayReject() {
        try (StreamEventQueue events = StreamEventQueue.create();
                StreamListener listener = StreamListener.listen(events, ANY_PORT, 1, StreamOptions.defaults());
                StreamEndpoint client = StreamEndpoint.connect(
                        events,
                        DeviceUnderTest.ip4(),
                        listener.localAddress(),
                        StreamOptions.defaults().withReceiveBufferBytes(12_345),
                        TIMEOUT)) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> sendSome(client, 0, 1))
                    .withMessageContaining("not connected yet");
            StreamEvent event = events.await(TIMEOUT);
            assertThat(event.listener()).isSameAs(listener);
            assertThat(event.request().peerReceiveBufferBytes()).isEqualTo(12_345);
            assertThat(event.request().peerReceiveQueueDepth()).isEqualTo(384);
            assertThat(event.request().remoteAddress().getAddress()).isEqualTo(DeviceUnderTest.ip4());
            event.request().reject();
            assertThatIllegalStateException().isThrownBy(() -> event.request().accept());
            StreamEvent error = events.await(TIMEOUT);
            assertThat(error.type()).isEqualTo(StreamEvent.Type.ERROR);
            assertThat(error.endpoint()).isSameAs(client);
            assertThatThrownBy(() -> client.awaitConnected(TIMEOUT))
                    .hasMessageContaining("the program rejected the request")
                    .isInstanceOfSatisfying(
                            StreamException.class, e -> assertThat(e.reason()).isEqualTo(Reason.REFUSED));
        }
    }

    @Test
    void aListenerThatClosesRejectsWhoWaits() {
        try (StreamEventQueue events = StreamEventQueue.create();
                StreamEventQueue clientEvents = StreamEventQueue.create()) {
            StreamListener listener = StreamListener.listen(events, ANY_PORT, 1, StreamOptions.defaults());
            try (StreamEndpoint client = StreamEndpoint.connect(
                    clientEvents, null, listener.localAddress(), StreamOptions.defaults(), TIMEOUT)) {
                boolean came = new Descriptors(events.fileDescriptor()).awaitReadable(15_000);
                assertThat(came).isTrue();
                events.pump();
                listener.close();
                assertThat(events.poll()).isEmpty();
                assertThat(clientEvents.await(TIMEOUT).type()).isEqualTo(StreamEvent.Type.ERROR);
            } finally {
                listener.close();
            }
        }
    }

    @Test
    void sidesInDifferentModesAreToldSo() {
        for (StreamMode mode : new StreamMode[] {StreamMode.IMMEDIATE, StreamMode.IWARP}) {
            StreamMode other = mode == StreamMode.IWARP ? StreamMode.IMMEDIATE : StreamMode.IWARP;
            try (Pair pair = Pair.connect(options(mode), options(other))) {
                assertThat(sendSome(pair.client(), 0, 10)).isEqualTo(10);
                assertThatThrownBy(() -> pair.server().awaitReadable(TIMEOUT))
                        .hasMessageContaining("both sides need the same mode")
                        .isInstanceOfSatisfying(
                                StreamException.class,
                                e -> assertThat(e.reason()).isEqualTo(Reason.PROTOCOL_VIOLATION));
            }
        }
    }

    /** Of the split mode the sides tell each other when they connect. */
    @ParameterizedTest
    @CsvSource({"SPLIT, IMMEDIATE", "SPLIT, IWARP", "IMMEDIATE, SPLIT", "IWARP, SPLIT"})
    void theSplitModeIsRefusedByTheOthersAndRefusesThem(StreamMode connecting, StreamMode listening) {
        try (StreamEventQueue events = StreamEventQueue.create();
                StreamListener listener = StreamListener.listen(events, ANY_PORT, 4, options(listening));
                StreamEventQueue clientEvents = StreamEventQueue.create();
                StreamEndpoint client = StreamEndpoint.connect(
                        clientEvents, null, listener.localAddress(), options(connecting), TIMEOUT)) {
            assertThatThrownBy(() -> listener.accept(TIMEOUT))
                    .hasMessageContaining("both sides need the same mode")
                    .isInstanceOfSatisfying(
                            StreamException.class, e -> assertThat(e.reason()).isEqualTo(Reason.BAD_CONNECTION_DATA));
            assertThatThrownBy(() -> client.awaitConnected(TIMEOUT))
                    .hasMessageContaining("both sides need the same mode")
                    .isInstanceOfSatisfying(
                            StreamException.class, e -> assertThat(e.reason()).isEqualTo(Reason.REFUSED));
        }
    }

    /** Pieces of all sizes, from what is only written to several that are read, past both rings' ends, both ways at once. */
    @ParameterizedTest
    @CsvSource({"50000, 70001, 8, 384", "1048575, 40000, 16, 4", "131072, 524288, 384, 384", "40000, 33000, 4, 4"})
    void largePiecesArriveInOrderInTheSplitMode(int sendRing, int receiveRing, int sends, int receives)
            throws Exception {
        StreamOptions options = new StreamOptions(sendRing, receiveRing, sends, receives, StreamMode.SPLIT);
        int total = 4_000_000;
        try (Pair pair = Pair.connect(options)) {
            List<Future<?>> all = new ArrayList<>();
            for (StreamEndpoint end : List.of(pair.client(), pair.server())) {
                all.add(start(() -> {
                    SplittableRandom random = new SplittableRandom(sendRing);
                    for (int sent = 0; sent < total; ) {
                        int length = Math.min(random.nextInt(4) == 0 ? 100 : random.nextInt(1, 200_000), total - sent);
                        sendAll(end, sent, length, length);
                        sent += length;
                    }
                    return null;
                }));
                all.add(start(() -> {
                    receiveAll(end, 0, total, 90_000);
                    return null;
                }));
            }
            await(all);
            Future<?> end = start(() -> {
                pair.server().awaitReadable(TIMEOUT);
                return pair.server().receive(ByteBuffer.allocate(1));
            });
            pair.client().shutdown(TIMEOUT);
            assertThat(end.get(30, TimeUnit.SECONDS)).isEqualTo(-1);
        }
    }

    /** What the peer is to read goes when the peer calls, not before; shutting down waits for that. */
    @Test
    void shutdownWaitsForThePeerToReadInTheSplitMode() throws Exception {
        try (Pair pair = Pair.connect(options(StreamMode.SPLIT))) {
            assertThat(sendSome(pair.client(), 0, 32_768)).isEqualTo(32_768);
            assertThatThrownBy(() -> pair.client().shutdown(SHORT))
                    .isInstanceOf(RdmaTimeoutException.class)
                    .hasMessageContaining("1 pieces that the peer has not read yet");
            Future<?> reader = start(() -> {
                receiveAll(pair.server(), 0, 32_768, 32_768);
                pair.server().awaitReadable(TIMEOUT);
                return pair.server().receive(ByteBuffer.allocate(1));
            });
            pair.client().shutdown(TIMEOUT);
            assertThat(reader.get(30, TimeUnit.SECONDS)).isEqualTo(-1);
        }
    }

    /** What was written behind a piece that is never read is no part of the stream. */
    @Test
    void aSenderThatClosesBeforeItsPieceIsReadEndsTheStreamBeforeThatPiece() {
        StreamOptions options =
                options(StreamMode.SPLIT).withSendBufferBytes(50_000).withReceiveBufferBytes(50_000);
        try (Pair pair = Pair.connect(options)) {
            assertThat(sendSome(pair.client(), 0, 100)).isEqualTo(100);
            assertThat(sendSome(pair.client(), 100, 40_000)).isEqualTo(40_000);
            pair.client().close();
            ByteBuffer in = ByteBuffer.allocate(100_000);
            long deadline = System.nanoTime() + TIMEOUT.toNanos();
            int last = 0;
            while (last >= 0) {
                pair.server().awaitReadable(TIMEOUT);
                last = pair.server().receive(in);
                assertThat(System.nanoTime() - deadline).isNegative();
            }
            in.flip();
            assertThat(in.limit()).isEqualTo(100);
            assertFilled(in, 0);
        }
    }

    @Test
    void misuseIsTold() {
        try (Pair pair = Pair.connect(StreamOptions.defaults())) {
            assertThatThrownBy(
                            () -> pair.server().receive(ByteBuffer.allocate(1).asReadOnlyBuffer()))
                    .isInstanceOf(ReadOnlyBufferException.class);
            assertThat(pair.server().receive(ByteBuffer.allocate(0))).isZero();
            assertThat(pair.server().send(ByteBuffer.allocate(0))).isZero();
            assertThat(pair.client().send(ByteBuffer.allocate(7).asReadOnlyBuffer()))
                    .isEqualTo(7);
            assertThatIllegalStateException().isThrownBy(() -> pair.client().start(new byte[24]));
            assertThatIllegalStateException()
                    .isThrownBy(() -> pair.clientEvents().close());
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> pair.client().awaitReadable(TIMEOUT))
                    .isInstanceOf(RdmaException.class)
                    .hasMessageContaining("interrupted");
            assertThat(Thread.interrupted()).isTrue();
        }
    }

    @Test
    void oneQueueServesManyEndpoints() {
        try (StreamEventQueue events = StreamEventQueue.create();
                StreamListener listener = StreamListener.listen(events, ANY_PORT, 8, StreamOptions.defaults());
                Closer open = new Closer()) {
            List<StreamEndpoint> clients = new ArrayList<>();
            List<StreamEndpoint> servers = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                clients.add(open.own(StreamEndpoint.connect(
                        events, null, listener.localAddress(), StreamOptions.defaults(), TIMEOUT)));
                servers.add(open.own(listener.accept(TIMEOUT)));
                clients.get(i).awaitConnected(TIMEOUT);
            }
            for (int i = 0; i < 5; i++) {
                assertThat(sendSome(clients.get(i), i, 10 + i)).isEqualTo(10 + i);
            }
            for (int i = 4; i >= 0; i--) {
                receiveAll(servers.get(i), i, 10 + i, 100);
                clients.get(i).shutdown(TIMEOUT);
            }
            int shutdowns = 0;
            while (shutdowns < 10) {
                StreamEvent event = events.await(TIMEOUT);
                assertThat(event.type()).isNotEqualTo(StreamEvent.Type.ERROR);
                shutdowns += event.type() == StreamEvent.Type.SHUTDOWN ? 1 : 0;
            }
        }
    }

    @Test
    void aByteChannelCarriesStreamsOfJavaIo() throws Exception {
        byte[] data = new byte[200_000];
        new SplittableRandom(42).nextBytes(data);
        try (StreamEventQueue events = StreamEventQueue.create();
                StreamListener listener = StreamListener.listen(events, ANY_PORT, 1, StreamOptions.defaults())) {
            Future<byte[]> server = threads.submit(() -> {
                try (StreamChannel channel = new StreamChannel(listener.accept(TIMEOUT), TIMEOUT);
                        InputStream in = Channels.newInputStream(channel)) {
                    return in.readAllBytes();
                }
            });
            StreamChannel client = StreamChannel.connect(listener.localAddress(), StreamOptions.defaults(), TIMEOUT);
            assertThat(client.isOpen()).isTrue();
            // The stream closes the channel, which shuts down: nothing that was written may be lost.
            try (OutputStream out = Channels.newOutputStream(client)) {
                out.write(data);
            }
            assertThat(client.isOpen()).isFalse();
            assertThat(server.get(30, TimeUnit.SECONDS)).isEqualTo(data);
            assertThatThrownBy(() -> client.write(ByteBuffer.allocate(1))).isInstanceOf(ClosedChannelException.class);
            assertThatThrownBy(() -> client.read(ByteBuffer.allocate(1))).isInstanceOf(ClosedChannelException.class);
            client.close();
        }
    }

    @Test
    void aByteChannelReportsTimeoutsAndThePeersEnd() throws Exception {
        try (Pair pair = Pair.connect(StreamOptions.defaults())) {
            StreamChannel channel = new StreamChannel(pair.client(), SHORT);
            assertThatThrownBy(() -> channel.read(ByteBuffer.allocate(1))).isInstanceOf(SocketTimeoutException.class);
            ByteBuffer tooMuch = ByteBuffer.allocate(40_000);
            assertThatThrownBy(() -> channel.write(tooMuch)).isInstanceOf(SocketTimeoutException.class);
            assertThat(tooMuch.position()).isEqualTo(32_768);
            assertThat(channel.read(ByteBuffer.allocate(0))).isZero();
            pair.server().close();
            pair.client().awaitReadable(TIMEOUT);
            assertThat(channel.read(ByteBuffer.allocate(1))).isEqualTo(-1);
            assertThatThrownBy(() -> channel.write(tooMuch))
                    .isInstanceOf(IOException.class)
                    .hasCauseInstanceOf(StreamException.class);
            channel.close();
        }
    }
}
