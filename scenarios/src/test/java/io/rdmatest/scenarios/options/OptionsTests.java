package io.rdmatest.scenarios.options;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.rdmatest.scenarios.role.Fault;
import io.rdmatest.scenarios.ucmatose.UcmatoseOptions;
import io.rdmatest.scenarios.udaddy.UdaddyOptions;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class OptionsTests {

    @Test
    void aChangeLeavesTheOriginalAsItIs() {
        UcmatoseOptions original = UcmatoseOptions.defaults();

        UcmatoseOptions changed = original.withPort(1).withConnections(2);

        assertThat(original).isEqualTo(UcmatoseOptions.defaults());
        assertThat(changed.port()).isEqualTo(1);
        assertThat(changed.connections()).isEqualTo(2);
    }

    @Test
    void optionsAreEqualIfAllFieldsAre() {
        UcmatoseOptions options = UcmatoseOptions.defaults().withPort(1).withMessages(3);

        assertThat(options)
                .isEqualTo(UcmatoseOptions.defaults().withMessages(3).withPort(1))
                .hasSameHashCodeAs(UcmatoseOptions.defaults().withMessages(3).withPort(1))
                .isNotEqualTo(options.withPort(2))
                .as("a field of the common part")
                .isNotEqualTo(options.withMessages(4));
        assertThat((Object) UcmatoseOptions.defaults()).isNotEqualTo(UdaddyOptions.defaults());
    }

    @Test
    void theTextHasEveryField() {
        assertThat(UdaddyOptions.defaults().withTypeOfService(32))
                .asString()
                .startsWith("UdaddyOptions[")
                .contains("portSpace=UDP", "port=7174", "typeOfService=32", "timeout=PT10S");
    }

    @Test
    void aCopyIsChecked() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> UdaddyOptions.defaults().withConnections(100_001))
                .withMessage("The number of communication paths is 100001: allowed are 1 to 100000");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> UdaddyOptions.defaults().withCommon(Duration.ZERO, null, Fault.NONE))
                .withMessage("The timeout is 0 ms: it must be more than 0");
    }
}
