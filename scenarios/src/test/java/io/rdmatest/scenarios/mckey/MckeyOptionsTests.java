package io.rdmatest.scenarios.mckey;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.rdmatest.cm.PortSpace;
import io.rdmatest.scenarios.options.Options;
import java.net.InetAddress;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MckeyOptionsTests {

    private static final MckeyOptions DEFAULTS = MckeyOptions.parse();

    @Test
    void theDefaultsAreThoseOfTheProgram() {
        assertThat(DEFAULTS.queuePairs()).isEqualTo(1);
        assertThat(DEFAULTS.messages()).isEqualTo(10);
        assertThat(DEFAULTS.sizeBytes()).isEqualTo(100);
        assertThat(DEFAULTS.portSpace()).isEqualTo(PortSpace.UDP);
        assertThat(DEFAULTS.settle()).isEqualTo(Duration.ofSeconds(3));
        assertThat(DEFAULTS.sendOnly()).isFalse();
        assertThat(DEFAULTS.blockLoopback()).isFalse();
        assertThat(DEFAULTS.firstWait()).isEqualTo(Options.NO_LIMIT);
    }

    @Test
    void readsZeroAsTheGroupThatTheSubnetChooses() {
        assertThat(MckeyOptions.parse("-M 0").isChosenBySubnet()).isTrue();
        assertThat(MckeyOptions.parse("-m 0.0.0.0").isChosenBySubnet()).isTrue();
        assertThat(MckeyOptions.parse("-m 239.1.1.1").isChosenBySubnet()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"10.77.0.1", "fe80::1", "255.255.255.255", "127.0.0.1"})
    void refusesAnAddressThatIsNoGroup(String text) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MckeyOptions.parse("-m", text))
                .withMessageContaining("-m " + InetAddress.ofLiteral(text).getHostAddress())
                .withMessageContaining("is not a multicast address");
    }

    @ParameterizedTest
    @ValueSource(strings = {"fe80::1", "::ffff:10.77.0.1"})
    void refusesAGidThatIsNoGroup(String text) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MckeyOptions.parse("-M", text))
                .withMessageContaining("is not a multicast GID");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "-c 0 | -c, the number of queue pairs, must be 1 to 65535, not 0",
                "-C -1 | -C, the number of messages,",
                "-S -1 | -S, the size in bytes,",
                "--senders 0 | --senders must be 1 to 1000, not 0",
                "-p tcp | is not a datagram port space",
                "--settle -1 | '-1' is not a duration",
                "--timeout 0 | '0' is out of range",
                "--first-wait 0 | '0' is out of range"
            })
    void refusesValuesOutOfTheirRanges(String line, String message) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MckeyOptions.parse(line))
                .withMessageContaining(message);
    }
}
