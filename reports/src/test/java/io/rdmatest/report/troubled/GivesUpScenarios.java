package io.rdmatest.report.troubled;

import io.rdmatest.junit.SkipReason;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class GivesUpScenarios {

    @BeforeAll
    static void givesUp() {
        throw SkipReason.NOT_SELECTED.skip("not on a Tuesday");
    }

    @Test
    void four() {}

    @Test
    void five() {}
}
