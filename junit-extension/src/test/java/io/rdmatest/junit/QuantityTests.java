package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class QuantityTests {

    @ParameterizedTest
    @CsvSource({"64B,64", "64,64", "4KiB,4096", "1 MiB,1048576", "2GiB,2147483648", "' 8 B ',8"})
    void readsSizes(String text, long bytes) {
        assertThat(Quantity.bytes(text)).isEqualTo(bytes);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "B", "1XiB", "1MB", "1 mib", "-1B", "1.5KiB", "1KiB 2", "9999999999999999999"})
    void refusesWhatIsNoSize(String text) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Quantity.bytes(text))
                .withMessageStartingWith("\"" + text + "\" is no size")
                .withMessageContaining("B, KiB, MiB or GiB");
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "0MiB", "9000000000GiB"})
    void refusesSizesOutOfRange(String text) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Quantity.bytes(text))
                .withMessageContaining("out of range");
    }

    @ParameterizedTest
    @CsvSource({"30,PT30S", "30 s,PT30S", "500ms,PT0.5S", "10 us,PT0.00001S", "2 min,PT2M", "1h,PT1H", "PT5S,PT5S"})
    void readsDurations(String text, Duration duration) {
        assertThat(Quantity.duration(text)).isEqualTo(duration);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "soon", "5 fortnights", "-3 s", "1.5 s"})
    void refusesWhatIsNoDuration(String text) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Quantity.duration(text))
                .withMessageStartingWith("\"" + text + "\" is no duration");
    }

    @ParameterizedTest
    @ValueSource(strings = {"0 s", "PT-1S", "25 h"})
    void refusesDurationsOutOfRange(String text) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Quantity.duration(text))
                .withMessageContaining("out of range");
    }

    @Test
    void saysDurationsInWords() {
        assertThat(Quantity.words(Duration.ofSeconds(30))).isEqualTo("30 s");
        assertThat(Quantity.words(Duration.ofMillis(250))).isEqualTo("250 ms");
    }
}
