package io.rdmatest.report.calm;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

public class CalmScenarios {

    @Test
    void passes() {
        assertThat(getClass().getSimpleName()).isEqualTo("CalmScenarios");
    }
}
