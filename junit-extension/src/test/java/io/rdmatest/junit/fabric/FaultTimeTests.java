package io.rdmatest.junit.fabric;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FaultTimeTests {

    @ParameterizedTest
    @CsvSource({"PT1S,PT30M", "PT10M,PT30M", "PT10M1S,PT1H", "PT1H,PT1H", "PT100H,PT1H"})
    void aFaultHasTimeForSetUpTestAndCleanUp(Duration limit, Duration time) {
        assertThat(FaultExtension.time(limit)).isEqualTo(time);
    }
}
