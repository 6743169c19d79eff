package io.rdmatest.report.unsteady;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.Measurement;
import io.rdmatest.junit.RdmaReport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

public class UnsteadyScenarios {

    /** System property: the folder in which each keeps how often it was run. */
    public static final String RUNS = "unsteady.runs";

    @ParameterizedTest(name = "of the same name")
    @ValueSource(
            strings = {
                "10", // always the same
                "10 100 10", // slow once
                "10 100 90 80", // slow from then on
                "10 100 failed", // slow, and then it fails
            })
    void measures(String times, TestReporter reporter) throws IOException {
        List<String> each = List.of(times.split(" "));
        String now = each.get(Math.min(runsBefore(times), each.size() - 1));
        assertThat(now).isNotEqualTo("failed");
        new RdmaReport(reporter)
                .measurement(Measurement.percentile("round trip p50", 50, Integer.parseInt(now), "us", 200));
    }

    private static int runsBefore(String times) throws IOException {
        Path runs = Path.of(System.getProperty(RUNS), times);
        Files.writeString(runs, ".", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        return (int) Files.size(runs) - 1;
    }
}
