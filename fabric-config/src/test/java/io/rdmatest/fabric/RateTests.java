package io.rdmatest.fabric;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RateTests {

    @ParameterizedTest
    @CsvSource({"90 Gb/s, 90", "90Gb/s, 90", "0.1 Tb/s, 100", "2500 Mb/s, 2.5", "1 kb/s, 0.000001", "8000000000 b/s, 8"
    })
    void aRateHasItsUnit(String text, double gigabits) {
        assertThat(Rate.parse(text)).contains(Rate.ofGigabitsPerSecond(gigabits));
    }

    @ParameterizedTest
    @ValueSource(strings = {"90", "90 GB/s", "90 gb/s", "90 Gbps", "90  Gb/s", "-1 Gb/s", "Gb/s", "1e3 Gb/s", ""})
    void whatIsNoRateIsNone(String text) {
        assertThat(Rate.parse(text)).isEmpty();
    }

    @Test
    void eachUnitHasAnAccessor() {
        Rate rate = Rate.ofGigabitsPerSecond(90);
        assertThat(rate.bitsPerSecond()).isEqualTo(90e9);
        assertThat(rate.megabitsPerSecond()).isEqualTo(90_000);
        assertThat(rate.bytesPerSecond()).isEqualTo(11.25e9);
        assertThat(rate).hasToString("90.0 Gb/s").isGreaterThan(new Rate(89e9));
        assertThatThrownBy(() -> new Rate(Double.NaN)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new Rate(-1)).hasMessage("A rate is 0 b/s or more, not -1.0");
    }
}
