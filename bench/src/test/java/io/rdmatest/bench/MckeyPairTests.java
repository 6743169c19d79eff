package io.rdmatest.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class MckeyPairTests {

    @Test
    void aRunThatDeliversIsNotRepeated() throws Exception {
        AtomicInteger runs = new AtomicInteger();
        MckeyPair.Delivery delivery = MckeyPair.repeated(() -> {
            runs.incrementAndGet();
            return 7L;
        });
        assertThat(delivery).isEqualTo(new MckeyPair.Delivery(7, 0));
        assertThat(runs).hasValue(1);
    }

    @Test
    void runsThatLoseTooMuchAreRepeated() throws Exception {
        Queue<Long> outcomes = new ArrayDeque<>(Arrays.asList(-1L, -1L, 5L));
        MckeyPair.Delivery delivery = MckeyPair.repeated(() -> {
            long outcome = outcomes.remove();
            return outcome < 0 ? null : outcome;
        });
        assertThat(delivery.nanos()).isEqualTo(5);
        assertThat(delivery.lostRuns()).isEqualTo(2);
        assertThat(outcomes).isEmpty();
    }

    @Test
    void aProgramThatNeverDeliversIsNotMeasured() {
        AtomicInteger runs = new AtomicInteger();
        assertThatThrownBy(() -> MckeyPair.repeated(() -> {
                    runs.incrementAndGet();
                    return null;
                }))
                .isInstanceOf(NotMeasuredException.class)
                .hasMessageContaining("lost more than half of its messages in each of " + MckeyPair.RUNS + " runs");
        assertThat(runs).hasValue(MckeyPair.RUNS);
    }

    @Test
    void aProgramThatFailsIsNotRunAgain() {
        AtomicInteger runs = new AtomicInteger();
        assertThatThrownBy(() -> MckeyPair.repeated(() -> {
                    runs.incrementAndGet();
                    throw new NotMeasuredException("the program failed");
                }))
                .hasMessage("the program failed");
        assertThat(runs).hasValue(1);
    }
}
