package io.rdmatest.report.dying;

import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.RunSeed;
import java.io.IOException;
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
    void transfer(int number, TestReporter reporter) throws IOException {
        if (number == 2) {
            Process left =
                    new ProcessBuilder("setsid", "sleep", "600").inheritIO().start();
            System.err.println("last words of transfer 2, which leaves " + left.pid() + " behind");
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
