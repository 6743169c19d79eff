package io.rdmatest.report.dying;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class SetUpDiesScenarios {

    @BeforeAll
    static void dies() {
        System.err.println("last words of a set-up");
        Runtime.getRuntime().halt(134);
    }

    @Test
    void neverReached() {}
}
