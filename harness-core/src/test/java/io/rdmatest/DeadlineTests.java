package io.rdmatest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Duration;
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
}
