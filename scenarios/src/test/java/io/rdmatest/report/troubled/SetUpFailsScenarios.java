package io.rdmatest.report.troubled;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class SetUpFailsScenarios {

    @BeforeAll
    static void fails() {
        throw new IllegalStateException("no room for a set-up");
    }

    @Test
    void one() {}

    @Test
    void two() {}

    @Test
    void three() {}
}
