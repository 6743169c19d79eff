package io.rdmatest.report.troubled;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

class TearDownFailsScenarios {

    @AfterAll
    static void fails() {
        throw new AssertionError("the tear-down found something left");
    }

    @Test
    void six() {}
}
