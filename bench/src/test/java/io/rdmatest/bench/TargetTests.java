package io.rdmatest.bench;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TargetTests {

    @ParameterizedTest
    @CsvSource({
        "AT_MOST, 1.05, 1.05, true",
        "AT_MOST, 1.05, 1.06, false",
        "AT_LEAST, 1.2, 1.2, true",
        "AT_LEAST, 1.2, 1.19, false"
    })
    void aTargetHoldsOnItsOwnSide(Target.Bound bound, double value, double ratio, boolean holds) {
        assertThat(new Target(bound, value).holds(ratio)).isEqualTo(holds);
    }
}
