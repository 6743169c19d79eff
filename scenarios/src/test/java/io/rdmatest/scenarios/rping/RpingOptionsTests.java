package io.rdmatest.scenarios.rping;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.rdmatest.ConnectionMode;
import io.rdmatest.scenarios.options.Options;
import io.rdmatest.scenarios.role.Fault;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RpingOptionsTests {

    private static final RpingOptions DEFAULTS = RpingOptions.parse();

    @Test
    void defaultsAreThoseOfTheProgram() {
        assertThat(DEFAULTS.port()).isEqualTo(7174);
        assertThat(DEFAULTS.sizeBytes()).isEqualTo(64);
        assertThat(DEFAULTS.count()).isZero();
        assertThat(DEFAULTS.bringUp()).isEqualTo(ConnectionMode.RDMA_CM);
        assertThat(DEFAULTS.address()).isNull();
        assertThat(DEFAULTS.source()).isNull();
        assertThat(DEFAULTS.verbose() || DEFAULTS.validate() || DEFAULTS.debug() || DEFAULTS.persistent())
                .isFalse();
        assertThat(DEFAULTS.clientLimit()).isEqualTo(256);
        assertThat(DEFAULTS.timeout()).isEqualTo(Duration.ofSeconds(10));
        assertThat(DEFAULTS.firstWait()).isEqualTo(Options.NO_LIMIT);
        assertThat(DEFAULTS.fault()).isEqualTo(Fault.NONE);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "-p 65536 | -p) is 0 to 65535, not 65536",
                "-p -1 | -p) is 0 to 65535, not -1",
                "-S 22 | -S) is 23 to 1073741824 bytes, not 22",
                "-S -64 | -S) is 23 to 1073741824 bytes, not -64",
                "-S 1073741825 | -S) is 23 to 1073741824 bytes, not 1073741825",
                "-C -1 | -C) is 0, for no end, or more, not -1",
                "--clients 0 | 1 to 4096, not 0",
                "--timeout 0 | out of range"
            })
    void valuesOutOfRangeAreNamed(String line, String message) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RpingOptions.parse(line))
                .withMessageContaining(message);
    }
}
