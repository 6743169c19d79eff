package io.rdmatest.rsocket;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.rdmatest.ffi.rdma_h;
import io.rdmatest.internal.Downcall;
import io.rdmatest.internal.Native;
import io.rdmatest.internal.linux.NativeCalls;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class DetachedCallHostIT {

    private static final Duration LONG = Duration.ofSeconds(20);
    private static final Duration SHORT = Duration.ofMillis(20);

    private static final Duration NONE = Duration.ZERO;

    private final CountDownLatch returning = new CountDownLatch(1);
    private final CountDownLatch late = new CountDownLatch(1);

    /** A native call that comes back when it is let. */
    private final LongSupplier stuck = () -> {
        try {
            assertThat(returning.await(20, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        return 0;
    };

    @BeforeAll
    static void load() {
        NativeCalls.requireLibraries();
    }

    @Test
    void handsOutTheResultOfACallThatReturns() {
        assertThat(DetachedCall.start("test", () -> 0, late::countDown).await(LONG, LONG, NONE))
                .contains(new DetachedCall.Outcome(0, 0, DetachedCall.End.RETURNED));
        assertThat(late.getCount()).isEqualTo(1);
    }

    @Test
    void givesUpACallThatDoesNotReturnAndEndsItWhenItDoes() throws Exception {
        DetachedCall call = DetachedCall.start("test", stuck, late::countDown);
        assertThat(call.await(SHORT, SHORT, NONE)).isEmpty();
        assertThat(late.getCount()).isEqualTo(1);
        returning.countDown();
        assertThat(late.await(20, TimeUnit.SECONDS)).isTrue();
        assertThat(call.await(LONG, LONG, NONE))
                .hasValueSatisfying(outcome -> assertThat(outcome.result()).isZero());
    }

    /** pause(2) returns when a signal has been handled, and else never. */
    private LongSupplier pausing() {
        MethodHandle pause = Downcall.of("pause", ValueLayout.JAVA_INT).handle();
        return () -> {
            try {
                return (int) pause.invokeExact(Native.errnoState());
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        };
    }

    @Test
    void endsASystemCallThatDoesNotReturn() {
        DetachedCall call = DetachedCall.start("test", pausing(), late::countDown);

        assertThat(call.await(SHORT, LONG, NONE)).hasValueSatisfying(outcome -> {
            assertThat(outcome.result()).isEqualTo(-1);
            assertThat(outcome.errno()).isEqualTo(rdma_h.EINTR());
            assertThat(outcome.end()).isEqualTo(DetachedCall.End.INTERRUPTED);
        });
        assertThat(late.getCount()).as("it was not abandoned").isEqualTo(1);
    }

    @Test
    void givesMoreTimeToACallThatNoInterruptEnds() {
        Thread waiting = Thread.currentThread();
        DetachedCall call = DetachedCall.start("test", stuck, late::countDown);
        // Without a limit and without grace, the only wait is the one for more time.
        Thread ignored = Thread.ofPlatform().start(() -> {
            while (waiting.getState() != Thread.State.TIMED_WAITING) {
                Thread.onSpinWait();
            }
            returning.countDown();
        });

        assertThat(call.await(NONE, NONE, LONG)).hasValueSatisfying(outcome -> {
            assertThat(outcome.result()).isZero();
            assertThat(outcome.end()).isEqualTo(DetachedCall.End.RETURNED_LATE);
        });
        assertThat(late.getCount()).as("it was not abandoned").isEqualTo(1);
    }

    @Test
    void doesNotTakeAnEarlierInterruptForTheEndOfTheCall() {
        DetachedCall call = DetachedCall.start("test", stuck, late::countDown);
        assertThat(call.await(SHORT, SHORT, NONE)).isEmpty();
        assertThat(call.whereToLook()).matches("/proc/\\d+/task/[1-9]\\d*/stack shows root .*");
        returning.countDown();
        assertThat(call.await(LONG, LONG, NONE))
                .hasValueSatisfying(outcome -> assertThat(outcome.end()).isEqualTo(DetachedCall.End.RETURNED_LATE));
    }

    @Test
    void canBeWaitedForAgain() {
        DetachedCall call = DetachedCall.start("test", stuck, late::countDown);
        assertThat(call.await(SHORT, SHORT, NONE)).isEmpty();
        assertThat(call.await(SHORT, SHORT, NONE)).isEmpty();
        returning.countDown();
        assertThat(call.await(LONG, LONG, NONE)).isPresent();
    }

    @Test
    void waitsOnForAnInterruptedThreadAndLeavesItInterrupted() {
        DetachedCall call = DetachedCall.start("test", stuck, late::countDown);
        Thread.currentThread().interrupt();
        assertThat(call.await(SHORT, SHORT, NONE)).isEmpty();
        assertThat(Thread.interrupted()).isTrue();
        returning.countDown();
    }

    @Test
    void throwsWhatTheCallThrew() {
        DetachedCall call = DetachedCall.start(
                "test",
                () -> {
                    throw new IllegalStateException("rsocket 3 is closed");
                },
                late::countDown);
        assertThatIllegalStateException()
                .isThrownBy(() -> call.await(LONG, LONG, NONE))
                .withMessage("rsocket 3 is closed");
    }
}
