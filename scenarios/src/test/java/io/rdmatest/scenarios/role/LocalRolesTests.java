package io.rdmatest.scenarios.role;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.Cause;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.verbs.WorkCompletion;
import io.rdmatest.verbs.WorkCompletion.Status;
import io.rdmatest.verbs.WorkCompletionException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** Roles that need no device. */
class LocalRolesTests {

    private static final Duration LONG = Duration.ofMinutes(1);

    private static final Supplier<FabricDevice> NONE = () -> {
        throw new AssertionError("a role asked for a device");
    };

    /**
     * The JVM clears what {@link Thread#isAlive} reads a moment after the thread's state is TERMINATED, with which a join returns.
     * Whoever asks it again in that moment is told that a role that has ended still runs.
     */
    @Test
    void aRoleThatEndsIsNeverCalledLate() {
        for (int i = 0; i < 2_000; i++) {
            AtomicReference<Thread> thread = new AtomicReference<>();
            try (LocalRoles roles = new LocalRoles()) {
                LocalRoles.Running<Integer> quick = roles.start("quick", NONE, context -> {
                    thread.set(Thread.currentThread());
                    return 1;
                });
                while (thread.get() == null || thread.get().getState() != Thread.State.TERMINATED) {
                    Thread.onSpinWait();
                }
                assertThat(quick.join(LONG)).isEqualTo(1);
            }
        }
    }

    @Test
    void aRoleThatDoesNotEndIsATimeoutWithItsDeadline() {
        CountDownLatch end = new CountDownLatch(1);
        try (LocalRoles roles = new LocalRoles()) {
            LocalRoles.Running<Integer> waiting = roles.start("waiting", NONE, context -> {
                awaitUninterruptibly(end);
                return 1;
            });
            assertThatThrownBy(() -> waiting.join(Duration.ZERO))
                    .isInstanceOf(RdmaTimeoutException.class)
                    .hasMessageStartingWith("no end of the role waiting within 0 ms; its thread is at ")
                    .matches(e -> Cause.of(e) == Cause.TIMEOUT);
            end.countDown();
            assertThat(waiting.join(LONG)).isEqualTo(1);
        }
    }

    /** As when an access error breaks the queue pair of one side before the other side has the answer that says so. */
    @Test
    void theFailureThatExplainsAFlushedRequestIsAwaited() {
        CountDownLatch flushed = new CountDownLatch(1);
        assertThatThrownBy(() -> LocalRoles.runPair(
                        NONE,
                        context -> {
                            flushed.countDown();
                            throw completion(Status.WR_FLUSH_ERR);
                        },
                        NONE,
                        context -> {
                            awaitUninterruptibly(flushed);
                            // Longer than a host that is busy for a moment.
                            assertThatThrownBy(() -> context.hear("nothing", Duration.ofMillis(500)))
                                    .isInstanceOf(RdmaTimeoutException.class);
                            throw completion(Status.REM_ACCESS_ERR);
                        },
                        LONG))
                .isInstanceOf(WorkCompletionException.class)
                .hasMessageContaining("IBV_WC_REM_ACCESS_ERR");
    }

    /** The end of the role that failed first is no reason to tell the failure that follows from it. */
    @Test
    void theFailureThatExplainsAFlushedRequestIsTheFirst() {
        for (int i = 0; i < 500; i++) {
            AtomicReference<Thread> follower = new AtomicReference<>();
            CountDownLatch both = new CountDownLatch(1);
            assertThatThrownBy(() -> LocalRoles.runPair(
                            NONE,
                            context -> {
                                awaitUninterruptibly(both);
                                follower.set(Thread.currentThread());
                                throw completion(Status.WR_FLUSH_ERR);
                            },
                            NONE,
                            context -> {
                                both.countDown();
                                while (follower.get() == null
                                        || follower.get().getState() != Thread.State.TIMED_WAITING) {
                                    Thread.onSpinWait();
                                }
                                throw completion(Status.REM_ACCESS_ERR);
                            },
                            LONG))
                    .hasMessageContaining("IBV_WC_REM_ACCESS_ERR");
        }
    }

    @Test
    void aRoleThatWaitsForAMessageIsWokenByTheFailureOfAnother() {
        AtomicReference<Thread> waiting = new AtomicReference<>();
        assertThatThrownBy(() -> LocalRoles.runPair(
                        NONE,
                        context -> {
                            waiting.set(Thread.currentThread());
                            return context.hear("nothing", Duration.ofHours(1));
                        },
                        NONE,
                        context -> {
                            while (waiting.get() == null || waiting.get().getState() != Thread.State.TIMED_WAITING) {
                                Thread.onSpinWait();
                            }
                            throw new IllegalStateException("the first failure");
                        },
                        LONG))
                .hasMessage("the first failure");
    }

    @Test
    void aWaitForAMessageIsOneWait() {
        try (LocalRoles roles = new LocalRoles()) {
            long waits = roles.start("waiting", NONE, context -> {
                        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
                        long thread = Thread.currentThread().threadId();
                        long before = threads.getThreadInfo(thread).getWaitedCount();
                        assertThatThrownBy(() -> context.hear("nothing", Duration.ofMillis(200)))
                                .isInstanceOf(RdmaTimeoutException.class);
                        return threads.getThreadInfo(thread).getWaitedCount() - before;
                    })
                    .join(LONG);
            // A wait may end early once.
            assertThat(waits).isLessThanOrEqualTo(2);
        }
    }

    private static WorkCompletionException completion(Status status) {
        return new WorkCompletionException(status, status.code(), 0, WorkCompletion.Opcode.SEND, 1, 17);
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
