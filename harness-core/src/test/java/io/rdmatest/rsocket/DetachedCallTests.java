package io.rdmatest.rsocket;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class DetachedCallTests {

    private static final Duration LONG = Duration.ofSeconds(20);
    private static final Duration SHORT = Duration.ofMillis(20);

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

    @Test
    void handsOutTheResultOfACallThatReturns() {
        assertThat(DetachedCall.start("test", () -> 0, late::countDown).await(LONG))
                .contains(new DetachedCall.Outcome(0, 0));
        assertThat(late.getCount()).isEqualTo(1);
    }

    @Test
    void givesUpACallThatDoesNotReturnAndEndsItWhenItDoes() throws Exception {
        DetachedCall call = DetachedCall.start("test", stuck, late::countDown);
        assertThat(call.await(SHORT)).isEmpty();
        assertThat(late.getCount()).isEqualTo(1);
        returning.countDown();
        assertThat(late.await(20, TimeUnit.SECONDS)).isTrue();
        assertThat(call.await(LONG)).contains(new DetachedCall.Outcome(0, 0));
    }

    @Test
    void canBeWaitedForAgain() {
        DetachedCall call = DetachedCall.start("test", stuck, late::countDown);
        assertThat(call.await(SHORT)).isEmpty();
        assertThat(call.await(SHORT)).isEmpty();
        returning.countDown();
        assertThat(call.await(LONG)).isPresent();
    }

    @Test
    void waitsOnForAnInterruptedThreadAndLeavesItInterrupted() {
        DetachedCall call = DetachedCall.start("test", stuck, late::countDown);
        Thread.currentThread().interrupt();
        assertThat(call.await(SHORT)).isEmpty();
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
        assertThatIllegalStateException().isThrownBy(() -> call.await(LONG)).withMessage("rsocket 3 is closed");
    }
}
