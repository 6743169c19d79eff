package io.rdmatest.report.troubled;

import io.rdmatest.SkipReason;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

class GivesUpScenarios {

    @BeforeAll
    static void givesUp() {
        throw new TestAbortedException(SkipReason.NOT_SELECTED.because("not on a Tuesday"));
    }

    @Test
    void four() {}

    @Test
    void five() {}
}
