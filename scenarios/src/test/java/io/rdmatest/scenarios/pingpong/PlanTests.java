package io.rdmatest.scenarios.pingpong;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.rdmatest.ConnectionMode;
import io.rdmatest.scenarios.cli.OptionLine;
import io.rdmatest.scenarios.pingpong.PingPongRoles.Operation;
import io.rdmatest.scenarios.pingpong.PingPongRoles.Plan;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PlanTests {

    private static Plan parse(String line) {
        return OptionLine.parse(Plan.class, line);
    }

    @Test
    void anEmptyLineIsTheDefaults() {
        assertThat(parse("")).isEqualTo(Plan.defaults());
    }

    @Test
    void everyOptionIsRead() {
        assertThat(parse("--operation write_with_immediate -S 4096 -C 7 --inline --shared-receives --events"
                        + " --connection raw --timeout 3s"))
                .isEqualTo(Plan.of(Operation.WRITE_WITH_IMMEDIATE, 4096, 7, Duration.ofSeconds(3))
                        .withInline()
                        .withSharedReceives()
                        .withEvents()
                        .by(ConnectionMode.RAW, null));
    }

    @ParameterizedTest
    @CsvSource({
        "-S 0, 'must be positive, not 0 and 100'",
        "-C 0, 'must be positive, not 64 and 0'",
        "--operation fetch_and_add, 'An atomic operation has 8 bytes, not 64'",
        "--operation push, '--operation'",
        "--fault flip-payload-byte, 'injects no fault'"
    })
    void wrongValuesAreNamed(String line, String text) {
        assertThatIllegalArgumentException().isThrownBy(() -> parse(line)).withMessageContaining(text);
    }
}
