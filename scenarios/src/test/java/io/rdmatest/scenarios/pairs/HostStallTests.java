package io.rdmatest.scenarios.pairs;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class HostStallTests {

    @Test
    void theStolenTimeIsThatOfAProcessor() {
        assertThat(HostStall.stolen(List.of(
                        "cpu  4705 150 1120 16250 520 0 30 600 0 0",
                        "cpu0 2352 75 560 8125 260 0 15 500 0 0",
                        "cpu1 2353 75 560 8125 260 0 15 100 0 0")))
                .isEqualTo(3_000_000_000L);
    }

    @Test
    void aSystemThatCountsNoStealHasNone() {
        assertThat(HostStall.stolen(List.of())).isZero();
        assertThat(HostStall.stolen(List.of("cpu  4705 150 1120 16250", "cpu0 4705 150 1120 16250")))
                .isZero();
        assertThat(HostStall.stolen(List.of("cpu  1 2 3 4 5 6 7 x 0 0", "cpu0 1 2 3 4 5 6 7 x 0 0")))
                .isZero();
    }

    @Test
    void aDelayIsWithinTheMeasuredTime() {
        HostStall.Delay delay = HostStall.begin().end();

        assertThat(delay.longest()).isBetween(0L, delay.elapsed());
        assertThat(delay.total()).isGreaterThanOrEqualTo(delay.longest());
    }
}
