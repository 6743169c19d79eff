package io.rdmatest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class DeadlineTests {

    private static final Duration HOUR = Duration.ofHours(1);

    @Test
    void isOverWhenItsTimeHasPassed() {
        Deadline passed = Deadline.after(Duration.ZERO);
        assertThat(passed.isOver()).isTrue();
        assertThat(passed.remaining()).isZero();
        assertThat(passed.nanos()).isZero();
        assertThat(passed.millis(20)).isZero();

        Deadline later = Deadline.after(HOUR);
        assertThat(later.isOver()).isFalse();
        assertThat(later.remaining()).isBetween(HOUR.minusMinutes(1), HOUR);
        assertThat(later.nanos()).isBetween(HOUR.minusMinutes(1).toNanos(), HOUR.toNanos());
    }

    @Test
    void cutsASliceOffButNeverEndsItEarly() {
        assertThat(Deadline.after(HOUR).millis(20)).isEqualTo(20);
        Deadline soon = Deadline.after(Duration.ofNanos(2_000_000));
        while (!soon.isOver()) {
            long left = soon.nanos();
            int millis = soon.millis(20);
            // Rounded up: a wait of 0 ms before the end would spin.
            assertThat(millis).isBetween(0, (int) (left / 1_000_000) + 1);
            assertThat(millis > 0 || soon.isOver()).isTrue();
        }
        assertThat(soon.millis(20)).isZero();
    }

    @Test
    void takesTheLongestTimeoutWithoutAnOverflow() {
        Duration longest = Duration.ofSeconds(Long.MAX_VALUE);
        assertThat(Deadline.after(longest).isOver()).isFalse();
        assertThat(Deadline.after(longest).remaining()).isBetween(Duration.ofDays(364), Duration.ofDays(365));
        assertThat(Deadline.nanos(longest)).isEqualTo(Duration.ofDays(365).toNanos());
        // The clock may be anywhere, also just before it wraps.
        assertThat(Deadline.isOver(Deadline.end(longest))).isFalse();
        assertThat(Deadline.nanos(Deadline.end(longest))).isPositive();
        assertThat(Deadline.isOver(Deadline.end(Duration.ZERO))).isTrue();
    }

    @Test
    void refusesANegativeTimeout() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Deadline.after(Duration.ofMillis(-1)))
                .withMessage("a timeout can't be negative: PT-0.001S");
    }

    @Test
    void endsAWaitWithWhatWasAwaitedAndWhatWasSeen() {
        assertThatExceptionOfType(RdmaTimeoutException.class)
                .isThrownBy(() -> Deadline.after(Duration.ZERO).check("event", () -> "2 others arrived"))
                .withMessage("no event within 0 ms; 2 others arrived");
        Deadline.after(HOUR).check("event", () -> "");

        Thread.currentThread().interrupt();
        assertThatExceptionOfType(RdmaException.class)
                .isThrownBy(() -> Deadline.after(HOUR).check("event", () -> ""))
                .matches(e -> e.rdmaCause() == Cause.INTERRUPTED)
                .withMessageContaining("interrupted while waiting for event");
        assertThat(Thread.interrupted()).isTrue();
    }

    /** Else a mistake of ours would be the fabric's. */
    @Test
    void aTimeoutBeforeItsLimitIsADefectOfRdmatest() {
        RdmaTimeoutException early =
                new RdmaTimeoutException(Cause.PEER_ABSENT, "event", Deadline.after(HOUR), "2 others arrived");

        assertThat(early.rdmaCause()).isEqualTo(Cause.DEFECT);
        assertThat(early)
                .hasMessageMatching(
                        "no event within 3600000 ms; the wait ended 3[56]\\d{5} ms before its limit, which is a"
                                + " defect of rdmatest and says nothing about the fabric; 2 others arrived");
        // Also where another failure was concluded from it.
        assertThat(Cause.of(new AssertionError("the peer is lost", early))).isEqualTo(Cause.DEFECT);
        assertThat(Cause.of(new RdmaException(Cause.PEER_LOST, "lost").initCause(early)))
                .isEqualTo(Cause.DEFECT);

        RdmaTimeoutException late = new RdmaTimeoutException(
                Cause.PEER_ABSENT, "event", Deadline.of(Deadline.end(Duration.ZERO), Duration.ZERO), "");
        assertThat(late.rdmaCause()).isEqualTo(Cause.PEER_ABSENT);
        assertThat(late).hasMessage("no event within 0 ms");
    }

    @Test
    void joiningTellsWhetherTheThreadHasEnded() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        Thread waiting = Thread.ofPlatform().daemon().start(() -> {
            try {
                end.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        assertThat(Deadline.after(Duration.ZERO).join(waiting, () -> {})).isFalse();

        Thread.currentThread().interrupt();
        assertThat(Deadline.after(HOUR).join(waiting, end::countDown)).isTrue();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(Deadline.after(Duration.ZERO).join(waiting, () -> {})).isTrue();

        Thread never = Thread.ofPlatform().unstarted(() -> {});
        assertThat(Deadline.after(HOUR).join(never, () -> {})).isTrue();
    }
}
