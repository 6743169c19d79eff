package io.rdmatest.scenarios;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.scenarios.ucmatose.UcmatoseRoles.Attributes;
import io.rdmatest.scenarios.ucmatose.UcmatoseRoles.Result;
import java.util.List;
import org.junit.jupiter.api.Test;

class ConnectionScenariosTests {

    private static Result with(Attributes... attributes) {
        return new Result(List.of(), 0, 0, 0, 0, "", List.of(attributes), List.of(), 0, 0, 0, 0);
    }

    @Test
    void anOptionThatTheQueuePairDoesNotHaveFails() {
        assertThatCode(() -> ConnectionScenarios.requireEach(
                        "ACK timeout", 17, with(new Attributes(0, 17), new Attributes(0, 17)), Attributes::ackTimeout))
                .doesNotThrowAnyException();
        assertThatThrownBy(() -> ConnectionScenarios.requireEach(
                        "ACK timeout", 17, with(new Attributes(0, 17), new Attributes(0, 14)), Attributes::ackTimeout))
                .isInstanceOf(AssertionError.class)
                .hasMessage("The ACK timeout is [17, 14] at each connection, 17 was asked for");
        assertThatThrownBy(() -> ConnectionScenarios.requireEach("traffic class", 32, with(), Attributes::trafficClass))
                .hasMessage("The traffic class is [] at each connection, 32 was asked for");
    }
}
