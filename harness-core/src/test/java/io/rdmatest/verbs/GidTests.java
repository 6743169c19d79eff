package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.net.InetAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GidTests {

    @ParameterizedTest
    @ValueSource(
            strings = {
                "fe80::1",
                "::",
                "::1",
                "fd77::2",
                "::ffff:10.77.0.1",
                "ff0e::ffff:e001:101",
                "1:2:3:4:5:6:7:8",
                "1:0:0:2::3",
                "1::"
            })
    void textGoesBothWays(String text) {
        assertThat(Gid.parse(text).toString()).isEqualTo(text);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "10.0.0.1", "fe80::1%eth0", "host", "1:2:3:4:5:6:7:8:9", "fe80:::1"})
    void otherTextIsRefused(String text) {
        assertThatIllegalArgumentException().isThrownBy(() -> Gid.parse(text)).withMessageContaining(text);
    }

    @Test
    void addressesAreMapped() throws Exception {
        InetAddress ipv4 = InetAddress.getByName("192.0.2.7");
        assertThat(Gid.of(ipv4).isIpv4Mapped()).isTrue();
        assertThat(Gid.of(ipv4).toInetAddress()).isEqualTo(ipv4);
        InetAddress ipv6 = InetAddress.getByName("fd77::1");
        assertThat(Gid.of(ipv6).isIpv4Mapped()).isFalse();
        assertThat(Gid.of(ipv6).toInetAddress()).isEqualTo(ipv6);
        assertThat(Gid.parse("fe80::5").isLinkLocal()).isTrue();
        assertThat(Gid.parse("ff0e::5").isMulticast()).isTrue();
        assertThatIllegalArgumentException().isThrownBy(() -> Gid.of(new byte[4]));
    }

    @Test
    void iwarpFillsUpAHardwareAddress() {
        byte[] hardware = {0x52, 0x54, 0, 0x77, 0, 1};
        assertThat(Gid.parse("5254:77:1::").isMadeOf(hardware)).isTrue();
        assertThat(Gid.parse("5254:77:1::1").isMadeOf(hardware)).isFalse();
        assertThat(Gid.parse("5254:77:2::").isMadeOf(hardware)).isFalse();
    }
}
