package io.rdmatest.rsocket;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ServiceTableTests {

    @Test
    void hasRoomForSixtyThreeSocketsIfNothingIsSaid() {
        assertThat(ServiceTable.configured(null)).isEqualTo(63);
    }

    @ParameterizedTest
    @CsvSource({"1, 1", "'127 ', 127", "16383, 16383"})
    void hasRoomForAsManyAsAreSaid(String value, int sockets) {
        assertThat(ServiceTable.configured(value)).isEqualTo(sockets);
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "-1", "16384", "4294967297", "many", "6.5", "0x10", ""})
    void refusesEveryOtherValue(String value) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ServiceTable.configured(value))
                .withMessage("-Drdma.rsockets=" + value + ": allowed are 1 to 16383");
    }
}
