package io.rdmatest.loopback;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.verbs.CompletionChannel;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.CompletionQueueAttributes;
import io.rdmatest.verbs.CompletionTimestamp;
import io.rdmatest.verbs.Completions;
import io.rdmatest.verbs.PostException;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.WorkCompletion;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Extended completion queues, and the timestamps that no software device has. */
@ExtendWith(UsualStandin.WithObjects.class)
class ExtendedQueueTestCase {

    private static final CompletionQueueAttributes EXTENDED =
            CompletionQueueAttributes.of(64).asExtended();

    /** Objects that a reset has taken from other cases, which stay allocated. */
    @Test
    void everyFieldIsThatOfAPlainQueue() throws Exception {
        try (Standin standin = new Standin()) {
            CompletionQueue plain = standin.cq();
            CompletionQueue extended = standin.add(standin.context.createCompletionQueue(EXTENDED));
            assertThat(extended.isExtended()).isTrue();
            assertThat(plain.isExtended()).isFalse();
            assertThat(extended.entries()).isEqualTo(64);
            Standin.Pair byFields = standin.pair(standin.cq(), extended);
            Standin.Pair whole = standin.pair(standin.cq(), plain);
            for (Standin.Pair pair : List.of(byFields, whole)) {
                pair.b().postReceive(7, pair.mrB(), 0, 64);
                pair.a().postSendWithImmediate(8, pair.mrA(), 0, 40, 0xcafe0001);
                pair.b().postReceive(9, pair.mrB(), 0, 1);
                pair.a().postSend(10, pair.mrA(), 0, 40);
            }
            List<WorkCompletion> seen = extended.awaitAny(2, Standin.SOON);
            List<WorkCompletion> expected = plain.awaitAny(2, Standin.SOON);
            assertThat(seen.getFirst())
                    .usingRecursiveComparison()
                    .ignoringFields("qpNumber", "sourceQp")
                    .isEqualTo(expected.getFirst());
            assertThat(seen.getFirst().immediate()).isEqualTo(0xcafe0001);
            assertThat(seen.getFirst().qpNumber()).isEqualTo(byFields.b().number());
            assertThat(seen.getFirst().sourceQp()).isEqualTo(byFields.a().number());
            assertThat(seen.getLast().status()).isEqualTo(WorkCompletion.Status.LOC_LEN_ERR);
            assertThat(seen.getLast().wrId()).isEqualTo(9);
            assertThat(seen.getLast().qpNumber()).isEqualTo(byFields.b().number());
            assertThat(byFields.b().work().receives()).as("the failed one").isEqualTo(1);
            assertThat(byFields.b().work().undecided()).isEqualTo(1);
        }
    }

    @Test
    void eventsCome() throws Exception {
        try (Standin standin = new Standin()) {
            CompletionChannel channel = standin.add(standin.context.createCompletionChannel());
            CompletionQueue cq = standin.add(standin.context.createCompletionQueue(
                    EXTENDED.withChannel(channel).withVector(2)));
            assertThat(Standin.get("vector")).isEqualTo(2);
            Standin.Pair pair = standin.pair(standin.cq(), cq);
            cq.requestNotify(false);
            pair.b().postReceive(1, pair.mrB(), 0, 64);
            pair.a().postSend(2, pair.mrA(), 0, 8);
            assertThat(channel.awaitEvent(Standin.SOON)).isSameAs(cq);
            assertThat(cq.awaitSuccess(Standin.SOON).wrId()).isEqualTo(1);
        }
    }

    @Test
    void completionsAreStampedByTheDevice() throws Exception {
        Standin.set("stamps", 1);
        try (Standin standin = new Standin()) {
            assertThat(standin.context.extendedAttributes().coreClockKhz()).isEqualTo(1_000_000);
            assertThat(standin.context.extendedAttributes().completionTimestampMask())
                    .isEqualTo(-1L);
            CompletionQueue cq = standin.add(
                    standin.context.createCompletionQueue(EXTENDED.withTimestamps(CompletionTimestamp.DEVICE_CLOCK)));
            assertThat(cq.timestamps()).isEqualTo(CompletionTimestamp.DEVICE_CLOCK);
            Standin.Pair pair = standin.pair(cq, standin.cq());
            Completions into = cq.newCompletions(4);
            assertThatIllegalStateException().isThrownBy(() -> into.timestamp(0));
            long before = standin.context.deviceClock();
            for (int i = 0; i < 3; i++) {
                write(pair, i);
            }
            assertThat(cq.awaitSuccess(into, Standin.SOON)).isEqualTo(3);
            long after = standin.context.deviceClock();
            assertThat(into.hasTimestamps()).isTrue();
            assertThat(List.of(before, into.timestamp(0), into.timestamp(1), into.timestamp(2), after))
                    .isSorted();
            assertThat(after - before).isLessThan(TimeUnit.SECONDS.toNanos(20));
            assertThatThrownBy(() -> into.timestamp(3)).isInstanceOf(IndexOutOfBoundsException.class);
            // The same array from a queue without: an old stamp is not taken for a new one.
            assertThat(pair.cqB().poll(into)).isZero();
            assertThat(into.hasTimestamps()).isFalse();
        }
    }

    @Test
    void completionsAreStampedByTheClockOfTheDay() throws Exception {
        Standin.set("stamps", 1);
        try (Standin standin = new Standin()) {
            CompletionQueue cq = standin.add(
                    standin.context.createCompletionQueue(EXTENDED.withTimestamps(CompletionTimestamp.WALL_CLOCK)));
            Standin.Pair pair = standin.pair(cq, standin.cq());
            Completions into = cq.newCompletions(4);
            Instant before = Instant.now();
            write(pair, 1);
            assertThat(cq.awaitSuccess(into, Standin.SOON)).isEqualTo(1);
            assertThat(Instant.ofEpochSecond(0, into.timestamp(0))).isBetween(before, Instant.now());
        }
    }

    @Test
    void timestampsThatTheDeviceLacksAreUnsupported() throws Exception {
        try (Standin standin = new Standin()) {
            assertThatThrownBy(() -> standin.context.createCompletionQueue(
                            EXTENDED.withTimestamps(CompletionTimestamp.DEVICE_CLOCK)))
                    .isInstanceOfSatisfying(RdmaException.class, ExtendedQueueTestCase::isUnsupported)
                    .hasMessageContaining("ibv_create_cq_ex")
                    .hasMessageContaining("The device has no completion-timestamps: completion_timestamp_mask is 0.");
            assertThatThrownBy(standin.context::deviceClock)
                    .isInstanceOfSatisfying(RdmaException.class, ExtendedQueueTestCase::isUnsupported);
        }
        Standin.set("sink", 1);
        try (Standin standin = new Standin()) {
            assertThatThrownBy(() -> standin.context.createCompletionQueue(EXTENDED))
                    .isInstanceOfSatisfying(RdmaException.class, ExtendedQueueTestCase::isUnsupported);
        }
    }

    /** As irdma does, which has no LIDs. */
    @Test
    void aDeviceThatTellsNoLidsHasExtendedQueues() throws Exception {
        int lengthOfBytes = 1;
        int sourceLid = 1 << 4;
        int pathBits = 1 << 6;
        Standin.set("refused_wc", sourceLid | pathBits);
        try (Standin standin = new Standin()) {
            CompletionQueue cq = standin.add(standin.context.createCompletionQueue(EXTENDED));
            Standin.Pair pair = standin.pair(standin.cq(), cq);
            pair.b().postReceive(1, pair.mrB(), 0, 64);
            pair.a().postSendWithImmediate(2, pair.mrA(), 0, 40, 0xcafe0001);
            WorkCompletion received = cq.awaitSuccess(Standin.SOON);
            assertThat(received.byteLength()).isEqualTo(40);
            assertThat(received.immediate()).isEqualTo(0xcafe0001);
            assertThat(received.sourceLid()).isZero();
            assertThat(received.pathBits()).isZero();
            Standin.set("refused_wc", sourceLid | lengthOfBytes);
            assertThatThrownBy(() -> standin.context.createCompletionQueue(EXTENDED))
                    .isInstanceOfSatisfying(RdmaException.class, ExtendedQueueTestCase::isUnsupported);
        }
    }

    private static void write(Standin.Pair pair, long id) {
        pair.a()
                .postWrite(
                        id, pair.mrA(), 0, 8, pair.mrB().address(), pair.mrB().rkey(), SendFlag.SIGNALED);
    }

    private static void isUnsupported(RdmaException failure) {
        assertThat(failure.isUnsupported()).isTrue();
        assertThat(failure.rdmaCause()).isEqualTo(Cause.UNSUPPORTED);
    }

    @Test
    void anErrorOfThePollIsToldAndLosesNoCompletion() throws Exception {
        try (Standin standin = new Standin()) {
            CompletionQueue cq = standin.add(standin.context.createCompletionQueue(EXTENDED));
            Standin.Pair pair = standin.pair(cq, standin.cq());
            Completions into = cq.newCompletions(4);
            for (int i = 0; i < 2; i++) {
                write(pair, i);
            }
            Standin.set("next_result", 5);
            assertThat(cq.poll(into)).isEqualTo(1);
            assertThat(into.wrId(0)).isZero();
            Standin.set("next_result", 0);
            assertThatThrownBy(() -> cq.poll(into))
                    .isInstanceOf(RdmaException.class)
                    .hasMessageContaining("EIO");
            assertThat(into.count()).isZero();
            assertThat(cq.poll(into)).isEqualTo(1);
            assertThat(into.wrId(0)).isEqualTo(1);
            Standin.set("poll_result", 22);
            assertThatThrownBy(() -> cq.poll(into))
                    .isInstanceOf(RdmaException.class)
                    .hasMessageContaining("EINVAL");
        }
    }

    /** A provider says so while the kernel sets the wall clock: the completion stays in the queue. */
    @Test
    void aBusyClockIsNoFailure() throws Exception {
        try (Standin standin = new Standin()) {
            CompletionQueue cq = standin.add(standin.context.createCompletionQueue(EXTENDED));
            Standin.Pair pair = standin.pair(cq, standin.cq());
            Completions into = cq.newCompletions(4);
            for (int i = 0; i < 2; i++) {
                write(pair, i);
            }
            Standin.set("poll_result", 16);
            assertThat(cq.poll(into)).isZero();
            Standin.set("poll_result", 0);
            Standin.set("next_result", 16);
            assertThat(cq.poll(into)).isEqualTo(1);
            assertThat(into.wrId(0)).isZero();
            Standin.set("next_result", 0);
            assertThat(cq.poll(into)).isEqualTo(1);
            assertThat(into.wrId(0)).isEqualTo(1);
        }
    }

    /** mlx5 returns -2 where it finds no queue pair for a completion: it is no ENOENT, which is the end of a poll. */
    @Test
    void aNumberOfTheProvidersOwnIsNoErrno() throws Exception {
        try (Standin standin = new Standin()) {
            CompletionQueue cq = standin.add(standin.context.createCompletionQueue(EXTENDED));
            Standin.Pair pair = standin.pair(cq, standin.cq());
            Completions into = cq.newCompletions(4);
            write(pair, 1);
            Standin.set("next_result", -2);
            assertThat(cq.poll(into)).isEqualTo(1);
            Standin.set("next_result", 0);
            assertThatThrownBy(() -> cq.poll(into))
                    .isInstanceOfSatisfying(RdmaException.class, ExtendedQueueTestCase::isNoErrno);
            assertThat(cq.poll(into)).isZero();
            Standin.set("poll_result", -2);
            assertThatThrownBy(() -> cq.poll(into))
                    .isInstanceOfSatisfying(RdmaException.class, ExtendedQueueTestCase::isNoErrno);
        }
    }

    private static void isNoErrno(RdmaException failure) {
        assertThat(failure)
                .hasMessageStartingWith("ibv_start_poll(cq ")
                .hasMessageContaining("it returned -2, which is no errno");
        assertThat(failure.call()).isEqualTo("ibv_start_poll");
        assertThat(failure.errno()).isZero();
        assertThat(failure.rdmaCause()).isEqualTo(Cause.CALL_FAILED);
    }

    /**
     * The JVM stops its threads while one is in the middle of a poll and another waits, in a post, for the lock of that poll: a critical
     * post could not be stopped, and the JVM would hang.
     */
    @Test
    void aPostToAFullQueueLetsTheJvmStopItsThreads() throws Exception {
        AtomicBoolean over = new AtomicBoolean();
        try (Standin standin = new Standin();
                ExecutorService threads = Executors.newFixedThreadPool(3)) {
            CompletionQueue cq = standin.add(standin.context.createCompletionQueue(EXTENDED));
            Standin.Pair full = standin.pair(cq, standin.cq());
            Standin.Pair polled = standin.pair(cq, standin.cq());
            for (int i = 0; i < 16; i++) {
                full.a().postSend(i, full.mrA(), 0, 8);
                full.a().postReceive(i, full.mrA(), 0, 8);
            }
            List<Future<?>> ends = List.of(
                    threads.submit(() -> {
                        while (!over.get()) {
                            assertThatThrownBy(() -> full.a().postSend(16, full.mrA(), 0, 8))
                                    .isInstanceOf(PostException.class);
                        }
                    }),
                    threads.submit(() -> {
                        while (!over.get()) {
                            assertThatThrownBy(() -> full.a().postReceive(16, full.mrA(), 0, 8))
                                    .isInstanceOf(PostException.class);
                        }
                    }),
                    threads.submit(() -> {
                        Completions into = cq.newCompletions(4);
                        while (!over.get()) {
                            polled.a()
                                    .postWrite(
                                            1,
                                            polled.mrA(),
                                            0,
                                            8,
                                            polled.mrB().address(),
                                            polled.mrB().rkey(),
                                            SendFlag.SIGNALED);
                            assertThat(cq.poll(into)).isEqualTo(1);
                        }
                    }));
            try {
                for (int i = 0; i < 1000; i++) {
                    assertThat(Thread.getAllStackTraces()).isNotEmpty();
                }
            } finally {
                over.set(true);
            }
            for (Future<?> end : ends) {
                end.get(20, TimeUnit.SECONDS);
            }
        }
    }

    /** The lock of the provider is free after each poll: else the second thread would spin for ever. */
    @Test
    void twoThreadsPollOneQueue() throws Exception {
        int messages = 2000;
        try (Standin standin = new Standin();
                ExecutorService threads = Executors.newFixedThreadPool(2)) {
            CompletionQueue cq = standin.add(standin.context.createCompletionQueue(EXTENDED));
            Standin.Pair pair = standin.pair(cq, standin.cq());
            AtomicInteger polled = new AtomicInteger();
            Callable<Integer> side = () -> {
                Completions into = cq.newCompletions(4);
                for (int i = 0; i < messages; i++) {
                    write(pair, i);
                    polled.addAndGet(cq.poll(into));
                }
                return polled.get();
            };
            for (Future<Integer> end : threads.invokeAll(List.of(side, side), 60, TimeUnit.SECONDS)) {
                assertThat(end.get()).isPositive();
            }
            Completions rest = cq.newCompletions(16);
            for (int count = cq.poll(rest); count > 0; count = cq.poll(rest)) {
                polled.addAndGet(count);
            }
            assertThat(polled).hasValue(2 * messages);
        }
    }
}
