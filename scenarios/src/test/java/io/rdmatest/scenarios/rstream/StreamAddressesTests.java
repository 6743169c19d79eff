package io.rdmatest.scenarios.rstream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.scenarios.role.ScenarioException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StreamAddressesTests {

    @ParameterizedTest
    @CsvSource({"19, NO_ROUTE", "99, NO_ROUTE", "98, HOST_NOT_READY"})
    void aLocalAddressThatCannotBeBoundIsNamed(int errno, Cause reason) {
        RdmaException failure = new RdmaException("rbind", "operands", errno);
        assertThat(StreamAddresses.unbound("192.0.2.7:7471", failure))
                .hasMessageContaining("192.0.2.7:7471")
                .hasCause(failure)
                .asInstanceOf(type(ScenarioException.class))
                .extracting(ScenarioException::rdmaCause)
                .isEqualTo(reason);
    }

    @ParameterizedTest
    @CsvSource({"12", "13"})
    void whatNothingIsKnownOfStaysWhatItIs(int errno) {
        RdmaException failure = new RdmaException("rbind", "operands", errno);
        assertThat(StreamAddresses.unbound("192.0.2.7:7471", failure)).isSameAs(failure);
    }
}
