package io.rdmatest.report.dying;

import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.RunSeed;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;

class AnyTimeScenarios {

    @Test
    void anyTime(TestReporter reporter) {
        new RdmaReport(reporter).parameter("run seed", RunSeed.get());
    }
}
