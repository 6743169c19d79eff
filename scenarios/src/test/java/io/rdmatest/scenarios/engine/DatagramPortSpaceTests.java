package io.rdmatest.scenarios.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.cm.PortSpace;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine.TypeConversionException;

class DatagramPortSpaceTests {

    @ParameterizedTest
    @ValueSource(strings = {"0x0111", "0x111", "0X0111", "273", "udp", "UDP"})
    void readsThePortSpaceOfDatagrams(String text) {
        assertThat(new DatagramPortSpace().convert(text)).isEqualTo(PortSpace.UDP);
    }

    @ParameterizedTest
    @ValueSource(strings = {"0x0002", "2", "ipoib", "IPoIB"})
    void readsThePortSpaceOfIpOverInfiniBand(String text) {
        assertThat(new DatagramPortSpace().convert(text)).isEqualTo(PortSpace.IPOIB);
    }

    @ParameterizedTest
    @ValueSource(strings = {"7471", "0x0106", "tcp", "", "0x", "-2"})
    void refusesWhatIsNoPortSpaceOfDatagrams(String text) {
        assertThatThrownBy(() -> new DatagramPortSpace().convert(text))
                .isInstanceOf(TypeConversionException.class)
                .hasMessageContaining("0x0111 (UDP) or 0x0002 (IPoIB)");
    }
}
