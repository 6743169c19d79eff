package io.rdmatest.rsocket;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.rdmatest.ffi.rdma_h;
import io.rdmatest.internal.BlockingCalls;
import io.rdmatest.internal.Downcall;
import io.rdmatest.internal.Native;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.time.Duration;
import java.util.Optional;
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

    /** Where in the kernel a test's call may be interrupted: sys_pause. */
    private static final String PAUSE = "pause";

    private volatile int pausingThread;

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
        Native.requireLibraries();
    }

    @Test
    void handsOutTheResultOfACallThatReturns() {
        assertThat(DetachedCall.start("test", () -> 0, PAUSE, late::countDown).await(LONG, LONG))
                .contains(new DetachedCall.Outcome(0, 0, null, null));
        assertThat(late.getCount()).isEqualTo(1);
    }

    @Test
    void givesUpACallThatDoesNotReturnAndEndsItWhenItDoes() throws Exception {
        DetachedCall call = DetachedCall.start("test", stuck, PAUSE, late::countDown);
        assertThat(call.await(SHORT, SHORT)).isEmpty();
        assertThat(late.getCount()).isEqualTo(1);
        returning.countDown();
        assertThat(late.await(20, TimeUnit.SECONDS)).isTrue();
        assertThat(call.await(LONG, LONG))
                .hasValueSatisfying(outcome -> assertThat(outcome.result()).isZero());
    }

    /** pause(2) returns when a signal has been handled, and else never. */
    private LongSupplier pausing() {
        MethodHandle pause = Downcall.of("pause", ValueLayout.JAVA_INT).handle();
        return () -> {
            pausingThread = BlockingCalls.currentThread();
            try {
                return (int) pause.invokeExact(Native.errnoState());
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        };
    }

    @Test
    void endsASystemCallThatDoesNotReturn() {
        DetachedCall call = DetachedCall.start("test", pausing(), PAUSE, late::countDown);

        assertThat(call.await(SHORT, LONG)).hasValueSatisfying(outcome -> {
            assertThat(outcome.result()).isEqualTo(-1);
            assertThat(outcome.errno()).isEqualTo(rdma_h.EINTR());
            assertThat(outcome.interruptedIn()).containsAnyOf(PAUSE, BlockingCalls.UNKNOWN);
        });
        assertThat(late.getCount()).as("it was not abandoned").isEqualTo(1);
    }

    @Test
    void leavesASystemCallAloneThatMayNotBeInterrupted() {
        DetachedCall call = DetachedCall.start("test", pausing(), "uverbs", late::countDown);

        Optional<DetachedCall.Outcome> outcome = call.await(SHORT, Duration.ofMillis(200));
        assumeThat(call.waitsIn()).as("the kernel tells where a thread waits").isNotEqualTo(BlockingCalls.UNKNOWN);
        assertThat(outcome).isEmpty();
        assertThat(call.waitsIn()).contains(PAUSE);

        assertThat(BlockingCalls.interrupt(pausingThread)).isTrue();
        assertThat(call.await(LONG, LONG))
                .hasValueSatisfying(woken -> assertThat(woken.errno()).isEqualTo(rdma_h.EINTR()));
    }

    @Test
    void waitsOnForACallThatIsInAPlaceWhereTheKernelTakesLonger() {
        DetachedCall call = DetachedCall.start("test", pausing(), "uverbs", late::countDown);

        Optional<DetachedCall.Outcome> outcome = call.await(SHORT, Duration.ofMillis(200), place -> {
            assumeThat(place).as("the kernel tells where a thread waits").isNotEqualTo(BlockingCalls.UNKNOWN);
            assertThat(BlockingCalls.interrupt(pausingThread)).isTrue();
            return place.contains(PAUSE) ? LONG : Duration.ZERO;
        });

        assertThat(outcome).hasValueSatisfying(woken -> {
            assertThat(woken.errno()).isEqualTo(rdma_h.EINTR());
            assertThat(woken.awaitedIn()).contains(PAUSE);
            assertThat(woken.interruptedIn()).isNull();
        });
        assertThat(late.getCount()).as("it was not abandoned").isEqualTo(1);
    }

    @Test
    void canBeWaitedForAgain() {
        DetachedCall call = DetachedCall.start("test", stuck, PAUSE, late::countDown);
        assertThat(call.await(SHORT, SHORT)).isEmpty();
        assertThat(call.await(SHORT, SHORT)).isEmpty();
        returning.countDown();
        assertThat(call.await(LONG, LONG)).isPresent();
    }

    @Test
    void waitsOnForAnInterruptedThreadAndLeavesItInterrupted() {
        DetachedCall call = DetachedCall.start("test", stuck, PAUSE, late::countDown);
        Thread.currentThread().interrupt();
        assertThat(call.await(SHORT, SHORT)).isEmpty();
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
                PAUSE,
                late::countDown);
        assertThatIllegalStateException()
                .isThrownBy(() -> call.await(LONG, LONG))
                .withMessage("rsocket 3 is closed");
    }
}
