package io.rdmatest.scenarios;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import io.rdmatest.junit.RdmaTest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Events;

/** The same fabric with demands that any meets, and with some that none does. */
@RdmaTest(timeout = "2 min")
@ResourceLock(RdmaTest.RSOCKET_LOCK)
class ThresholdScenariosIT {

    @TempDir
    private Path folder;

    @Test
    void aFabricThatIsFastEnoughPasses() throws Exception {
        run("thresholds: { round-trip: { p50: 10s, max: 20s }, throughput: 0.000001 }")
                .assertStatistics(statistics -> statistics.started(2).succeeded(2));
    }

    @Test
    void aFabricThatIsTooSlowFailsAndSaysByHowMuch() throws Exception {
        List<String> failures =
                run("thresholds: { round-trip: { p50: 1ns, p99: 1ns, p99.9: 20s, max: 1ns }, throughput: 10000 }")
                        .failed()
                        .map(event -> event.getRequiredPayload(TestExecutionResult.class)
                                .getThrowable()
                                .orElseThrow()
                                .getMessage())
                        .sorted()
                        .toList();

        assertThat(failures)
                .satisfiesExactly(
                        throughput -> assertThat(throughput)
                                .containsPattern("A stream is slower than the fabric demanding .* demands: "
                                        + "[0-9.]+ Gb/s, at least 10000.0 Gb/s"),
                        roundTrip -> assertThat(roundTrip)
                                .containsPattern("(?s)Round trips are slower than the fabric demanding .* demands: "
                                        + "p50 [0-9.]+ us, at most 0.001 us; p99 [0-9.]+ us, at most 0.001 us; "
                                        + "max [0-9.]+ us, at most 0.001 us"));
    }

    @Test
    void aFabricThatDemandsNothingIsNotMeasured() throws Exception {
        run("faults: forbidden")
                .assertStatistics(statistics -> statistics.started(2).aborted(2));
    }

    private Events run(String line) throws IOException {
        Path file = Files.writeString(folder.resolve("demanding.yaml"), """
                        fabric: demanding
                        %s
                        nodes:
                          - name: a
                        """.formatted(line));
        return EngineTestKit.engine("junit-jupiter")
                .configurationParameter("rdma.fabric", file.toString())
                .configurationParameter("junit.jupiter.execution.parallel.enabled", "false")
                .configurationParameter("rdma.pingpong.iterations", "20")
                .selectors(selectClass(ThresholdScenarios.class))
                .execute()
                .testEvents();
    }
}
