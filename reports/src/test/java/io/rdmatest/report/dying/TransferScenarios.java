package io.rdmatest.report.dying;

import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.RunSeed;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class TransferScenarios {

    @Test
    @Order(1)
    void first(TestReporter reporter) {
        new RdmaReport(reporter).parameter("run seed", RunSeed.get());
    }

    @ParameterizedTest(name = "transfer {0}")
    @Order(2)
    @ValueSource(ints = {1, 2, 3, 4})
    void transfer(int number, TestReporter reporter) {
        if (number == 2) {
            System.err.println("last words of transfer 2");
            Runtime.getRuntime().halt(134);
        }
        new RdmaReport(reporter).parameter("run seed", RunSeed.get());
    }

    @Test
    @Order(3)
    void last(TestReporter reporter) {
        new RdmaReport(reporter).parameter("run seed", RunSeed.get());
    }
}
