package io.rdmatest.scenarios.udaddy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.rdmatest.cm.AddressInfo.Format;
import io.rdmatest.cm.PortSpace;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class UdaddyOptionsTests {

    @Test
    void theDefaultsAreThoseOfTheManPage() {
        UdaddyOptions options = UdaddyOptions.parse("");

        assertThat(options.portSpace()).isEqualTo(PortSpace.UDP);
        assertThat(options.port()).isEqualTo(7174);
        assertThat(options.connections()).isEqualTo(1);
        assertThat(options.messages()).isEqualTo(10);
        assertThat(options.sizeBytes()).isEqualTo(100);
        assertThat(options.typeOfService()).isNull();
    }

    @Test
    void everyLetterOfTheManPageIsRead() {
        UdaddyOptions options =
                UdaddyOptions.parse("-s fd00::1 -b fd00::2 -f ipv6 -p ipoib -c 3 -C 20 -S 2048 -t 32 --port 7000");

        assertThat(options.serverAddress()).isEqualTo("fd00::1");
        assertThat(options.bindAddress()).isEqualTo("fd00::2");
        assertThat(options.addressFormat()).isEqualTo(Format.IPV6);
        assertThat(options.portSpace()).isEqualTo(PortSpace.IPOIB);
        assertThat(options.connections()).isEqualTo(3);
        assertThat(options.messages()).isEqualTo(20);
        assertThat(options.sizeBytes()).isEqualTo(2048);
        assertThat(options.typeOfService()).isEqualTo(32);
        assertThat(options.port()).isEqualTo(7000);
    }

    @ParameterizedTest
    @ValueSource(strings = {"-c 0", "-C -1", "-S -1", "-S 65537", "-t 256", "-p tcp", "-p ib"})
    void whatIsOutOfRangeIsRefused(String line) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> UdaddyOptions.parse(line))
                .withMessageContaining(line);
    }
}
