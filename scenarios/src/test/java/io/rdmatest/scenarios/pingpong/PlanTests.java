package io.rdmatest.scenarios.pingpong;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.rdmatest.ConnectionMode;
import io.rdmatest.scenarios.pingpong.PingPongRoles.Operation;
import io.rdmatest.scenarios.pingpong.PingPongRoles.Plan;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PlanTests {

    private static Plan parse(String line) {
        return Plan.parse(line);
    }

    @Test
    void anEmptyLineIsTheDefaults() {
        Plan plan = parse("");
        assertThat(plan.operation()).isEqualTo(Operation.SEND);
        assertThat(plan.size()).isEqualTo(64);
        assertThat(plan.iterations()).isEqualTo(100);
        assertThat(plan.bringUp()).isEqualTo(ConnectionMode.RDMA_CM);
        assertThat(plan.inline() || plan.sharedReceives() || plan.events()).isFalse();
        assertThat(plan.timeout()).isEqualTo(Duration.ofSeconds(10));
    }

    @Test
    void everyOptionIsRead() {
        Plan plan = parse("--operation write_with_immediate -S 4096 -C 7 --inline --shared-receives --events"
                + " --connection raw --timeout 3s");
        assertThat(plan.operation()).isEqualTo(Operation.WRITE_WITH_IMMEDIATE);
        assertThat(plan.size()).isEqualTo(4096);
        assertThat(plan.iterations()).isEqualTo(7);
        assertThat(plan.bringUp()).isEqualTo(ConnectionMode.RAW);
        assertThat(plan.inline() && plan.sharedReceives() && plan.events()).isTrue();
        assertThat(plan.timeout()).isEqualTo(Duration.ofSeconds(3));
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
