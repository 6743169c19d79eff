package io.rdmatest.stream;

import static io.rdmatest.stream.StreamFixture.SHORT;
import static io.rdmatest.stream.StreamFixture.TIMEOUT;
import static io.rdmatest.stream.StreamFixture.assertFilled;
import static io.rdmatest.stream.StreamFixture.receiveAll;
import static io.rdmatest.stream.StreamFixture.sendSome;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.Closer;
import io.rdmatest.DeviceUnderTest;
import io.rdmatest.EmptyLedger;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.WholeLedger;
import io.rdmatest.stream.StreamException.Reason;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.AsyncEvent;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.OutstandingWork;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.RawConnection;
import io.rdmatest.verbs.WorkCompletionException;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Streams on queue pairs that are connected without the connection manager, the 24 bytes handed over by hand. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@WholeLedger
@ExtendWith(EmptyLedger.class)
class StreamRawIT {

    private static final RawConnection.Parameters PARAMETERS =
            RawConnection.Parameters.DEFAULT.withAccess(Access.LOCAL_WRITE, Access.REMOTE_WRITE);
    private static final int PORT = DeviceUnderTest.port();

    private static int gidIndex(DeviceContext context) {
        return DeviceUnderTest.gid(context, true).index();
    }

    private static final class Pair implements AutoCloseable {

        private final Closer open = new Closer();
        private final StreamEndpoint a;
        private final StreamEndpoint b;

        Pair(StreamOptions options, long passed, RawConnection.Parameters parameters) {
            boolean done = false;
            try {
                DeviceContext context = open.own(DeviceUnderTest.device().open());
                int gid = gidIndex(context);
                a = open.own(StreamEndpoint.unconnected(context, options, passed));
                b = open.own(StreamEndpoint.unconnected(context, options, passed));
                RawConnection.connect(a.queuePair(), b.queuePair(), PORT, gid, parameters);
                a.start(b.localData());
                b.start(a.localData());
                done = true;
            } finally {
                if (!done) {
                    open.close();
                }
            }
        }

        @Override
        public void close() {
            open.close();
        }
    }

    /** A few bytes before 2 GiB, 4 GiB and 10 GiB: counters pass the mark in both directions while rings wrap. */
    @ParameterizedTest
    @ValueSource(longs = {(1L << 31) - 1500, (1L << 32) - 1500, (10L << 30) - 1500, (1L << 45) + 7})
    void carriesBytesBeyondWhatSmallerCountersHold(long passed) {
        StreamOptions options = new StreamOptions(1000, 777, 16, 16, StreamMode.IMMEDIATE);
        try (Pair pair = new Pair(options, passed, PARAMETERS)) {
            for (StreamEndpoint[] way : new StreamEndpoint[][] {{pair.a, pair.b}, {pair.b, pair.a}}) {
                ByteBuffer in = ByteBuffer.allocate(500);
                long sent = 0;
                long received = 0;
                long deadline = System.nanoTime() + TIMEOUT.toNanos();
                while (received < 10_000) {
                    if (sent < 10_000) {
                        sent += sendSome(way[0], sent, (int) Math.min(300, 10_000 - sent));
                    }
                    int now = way[1].receive(in.clear());
                    assertFilled(in.flip(), received);
                    received += now;
                    assertThat(System.nanoTime() - deadline)
                            .as("after " + received)
                            .isNegative();
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void theCompletionQueueHoldsAllThatCanBeFlushed(StreamMode mode) {
        StreamOptions options = StreamOptions.defaults().withMode(mode);
        try (Pair pair = new Pair(options, 0, PARAMETERS)) {
            QueuePair queuePair = pair.a.queuePair();
            // Nobody acknowledges any more.
            pair.b.queuePair().toError();
            int messages = 0;
            while (sendSome(pair.a, messages, 1) == 1) {
                messages++;
            }
            assertThat(messages).isGreaterThan(options.sendQueueDepth() / 2);
            queuePair.toError();

            OutstandingWork work = queuePair.work();
            int posted = (int) (work.sends() + work.receives());
            assertThat(queuePair.sendQueue().awaitAny(posted, TIMEOUT)).hasSize(posted);
            DeviceContext context = queuePair.protectionDomain().context();
            assertThat(Stream.generate(context::pollAsyncEvent)
                            .takeWhile(Optional::isPresent)
                            .map(Optional::get)
                            .map(AsyncEvent::type))
                    .doesNotContain(AsyncEvent.Type.CQ_ERR);
        }
    }

    @ParameterizedTest
    @EnumSource
    void aPeerThatDiesIsNoticedBySendingToIt(StreamMode mode) {
        StreamOptions options = StreamOptions.defaults().withMode(mode);
        // 4.2 ms for an acknowledgement, and 2 more tries.
        try (Pair pair = new Pair(options, 0, PARAMETERS.withTimeout(10, 2))) {
            assertThat(sendSome(pair.b, 0, 100)).isEqualTo(100);
            pair.a.awaitReadable(TIMEOUT);
            pair.b.queuePair().toError();
            assertThat(sendSome(pair.a, 0, 10)).isEqualTo(10);
            // What it had sent is received before the failure is told.
            receiveAll(pair.a, 0, 100, 60);
            assertThatThrownBy(() -> pair.a.awaitReadable(TIMEOUT))
                    .hasMessageContaining("broke")
                    .hasRootCauseInstanceOf(WorkCompletionException.class)
                    .isInstanceOfSatisfying(
                            StreamException.class, e -> assertThat(e.reason()).isEqualTo(Reason.CONNECTION_LOST));
            assertThatThrownBy(() -> sendSome(pair.a, 0, 1)).isInstanceOf(StreamException.class);
            assertThatThrownBy(() -> pair.a.receive(ByteBuffer.allocate(1))).isInstanceOf(StreamException.class);
            assertThatThrownBy(() -> pair.a.shutdown(TIMEOUT)).isInstanceOf(StreamException.class);
            assertThat(pair.a.isConnected()).isFalse();
            // And the dead one knows of itself.
            assertThatThrownBy(() -> pair.b.awaitReadable(TIMEOUT)).isInstanceOf(StreamException.class);
        }
    }

    /**
     * The peer may send as soon as the queue pair receives, and another thread may poll before this side has taken note of what
     * the peer's rings are.
     */
    @ParameterizedTest
    @EnumSource
    void whatComesBeforeThePeerIsKnownIsJudgedWhenItIs(StreamMode mode) {
        StreamOptions options = StreamOptions.defaults().withMode(mode);
        try (Closer open = new Closer()) {
            DeviceContext context = open.own(DeviceUnderTest.device().open());
            DataPath early = DataPath.open(context, null, options, 0);
            open.own(early::close);
            DataPath late = DataPath.open(context, null, options, 0);
            open.own(late::close);
            RawConnection.connect(
                    early.queuePair(),
                    late.queuePair(),
                    PORT,
                    gidIndex(context),
                    PARAMETERS.withAccess(Access.LOCAL_WRITE, Access.REMOTE_WRITE, Access.REMOTE_READ));
            early.postReceives();
            late.postReceives();
            early.start(late.localData());
            ByteBuffer out = ByteBuffer.allocateDirect(32_768);
            StreamFixture.fill(out, 0);
            assertThat(early.send(out, false)).isEqualTo(32_768);
            long deadline = System.nanoTime() + TIMEOUT.toNanos();
            while (early.outstanding() > (mode == StreamMode.SPLIT ? 1 : 0)) {
                int ignored = early.progress();
                assertThat(System.nanoTime() - deadline).as(early.describe()).isNegative();
            }
            int ignored = late.progress();
            assertThat(late.failure()).isNull();

            late.start(early.localData());
            ByteBuffer in = ByteBuffer.allocate(32_768);
            while (in.hasRemaining()) {
                ignored = late.receive(in);
                assertThat(late.failure()).isNull();
                assertThat(System.nanoTime() - deadline).as(late.describe()).isNegative();
            }
            assertFilled(in.flip(), 0);
        }
    }

    /** No acknowledgement: shutdown does not take the data for delivered. */
    @Test
    void shutdownWaitsForAcknowledgementsUpToItsDeadline() {
        try (Pair pair = new Pair(StreamOptions.defaults(), 0, PARAMETERS.withTimeout(20, 7))) {
            pair.b.queuePair().toError();
            assertThat(sendSome(pair.a, 0, 10)).isEqualTo(10);
            assertThatThrownBy(() -> pair.a.shutdown(SHORT))
                    .isInstanceOf(RdmaTimeoutException.class)
                    .hasMessageContaining("1 messages unacknowledged");
            assertThatIllegalStateException().isThrownBy(() -> sendSome(pair.a, 0, 1));
        }
    }

    @Test
    void isNotStartedTwiceNorWithAnotherVersion() {
        try (Pair pair = new Pair(StreamOptions.defaults(), 0, PARAMETERS)) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> pair.a.start(pair.b.localData()))
                    .withMessageContaining("already started");
            assertThatIllegalStateException().isThrownBy(() -> pair.a.remoteAddress());
            assertThat(pair.a.eventQueue()).isNull();
            pair.a.shutdown(TIMEOUT);
            assertThat(pair.a.receive(ByteBuffer.allocate(1))).isEqualTo(-1);
        }
        try (DeviceContext context = DeviceUnderTest.device().open();
                StreamEndpoint endpoint = StreamEndpoint.unconnected(context, StreamOptions.defaults())) {
            byte[] other = endpoint.localData();
            other[22] = 3;
            assertThatThrownBy(() -> endpoint.start(other))
                    .isInstanceOfSatisfying(
                            StreamException.class, e -> assertThat(e.reason()).isEqualTo(Reason.VERSION_MISMATCH));
            assertThatIllegalStateException().isThrownBy(() -> sendSome(endpoint, 0, 1));
        }
    }
}
