package io.rdmatest.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class MulticastContestTests {

    @Test
    void aRunThatDeliversIsNotRepeated() throws Exception {
        AtomicInteger runs = new AtomicInteger();
        MulticastContest.Delivery delivery = MulticastContest.repeated(() -> {
            runs.incrementAndGet();
            return OptionalLong.of(7);
        });
        assertThat(delivery).isEqualTo(new MulticastContest.Delivery(7, 0));
        assertThat(runs).hasValue(1);
    }

    @Test
    void runsThatLoseTooMuchAreRepeated() throws Exception {
        Queue<Long> outcomes = new ArrayDeque<>(Arrays.asList(-1L, -1L, 5L));
        MulticastContest.Delivery delivery = MulticastContest.repeated(() -> {
            long outcome = outcomes.remove();
            return outcome < 0 ? OptionalLong.empty() : OptionalLong.of(outcome);
        });
        assertThat(delivery.nanos()).isEqualTo(5);
        assertThat(delivery.lostRuns()).isEqualTo(2);
        assertThat(outcomes).isEmpty();
    }

    @Test
    void aProgramThatNeverDeliversIsNotMeasured() {
        AtomicInteger runs = new AtomicInteger();
        assertThatThrownBy(() -> MulticastContest.repeated(() -> {
                    runs.incrementAndGet();
                    return OptionalLong.empty();
                }))
                .isInstanceOf(NotMeasuredException.class)
                .hasMessageContaining(
                        "lost more than half of its messages in each of " + MulticastContest.RUNS + " runs");
        assertThat(runs).hasValue(MulticastContest.RUNS);
    }

    @Test
    void aProgramThatFailsIsNotRunAgain() {
        AtomicInteger runs = new AtomicInteger();
        assertThatThrownBy(() -> MulticastContest.repeated(() -> {
                    runs.incrementAndGet();
                    throw new NotMeasuredException("the program failed");
                }))
                .hasMessage("the program failed");
        assertThat(runs).hasValue(1);
    }
}
