package io.rdmatest.scenarios.interop;

import io.rdmatest.ReportKeys;
import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.scenarios.DeviceNeeds;
import io.rdmatest.scenarios.Phase;
import io.rdmatest.scenarios.Stage;
import io.rdmatest.scenarios.Wire;
import io.rdmatest.scenarios.role.Fault;
import io.rdmatest.verbs.DeviceCapability;
import java.time.Duration;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.ArgumentsProvider;
import org.junit.jupiter.params.provider.ArgumentsSource;
import org.junit.jupiter.params.support.ParameterDeclarations;

/**
 * Both sides of every C program of rdma-core against the roles of rdmatest, which must speak the same protocol on the wire.
 *
 * <p>Our side is on this host. The programs are where the other side of every scenario is. Our side decides the result, by
 * completions, events and payload. The output and the exit status of the program count only where they are meaningful.
 */
@RdmaTest(timeout = "90 s")
@ResourceLock(RdmaTest.RSOCKET_LOCK)
@Tag(Phase.DATA_TAG)
@DisplayName("Interoperability")
public class InteropScenarios {

    static final Duration STEP = Duration.ofSeconds(15);

    @ParameterizedTest(name = "{0}")
    @ArgumentsSource(Cells.class)
    void cell(Cell cell, InteropMatrix matrix, Stage stage, RdmaReport report, Wire wire) {
        if (cell.overTcp()) {
            wire.silent("TCP carries the stream");
        }
        report.label("parentSuite", "Interoperability");
        report.label("suite", cell.program());
        report.label("subSuite", cell.ours().sides());
        report.parameter("options", cell.optionsText());
        report.parameter("seed", matrix.seed());
        requireDatagrams(cell, stage);
        LocalCell.Result result = report.step(
                cell.toString(),
                () -> LocalCell.run(cell, stage.here(), stage.elsewhere(), step(stage), Fault.NONE, matrix.repeat()));
        result.notes().forEach(report::parameter);
        report.bytesVerified(result.bytes());
    }

    /** iWARP has no datagrams: the programs end at once, and ours would wait for them. */
    private static void requireDatagrams(Cell cell, Stage stage) {
        switch (cell.program()) {
            case "udaddy" -> DeviceNeeds.of(stage).capability(DeviceCapability.UNRELIABLE_DATAGRAMS);
            case "mckey" -> DeviceNeeds.of(stage).capability(DeviceCapability.MULTICAST);
            default -> {
                // Reliable connections.
            }
        }
    }

    /**
     * Returns the limit of a step. A program on another node starts only after its launch command, and logging in takes an
     * emulated processor seconds.
     */
    private static Duration step(Stage stage) {
        return stage.elsewhere() == stage.here() ? STEP : STEP.multipliedBy(2);
    }

    /** Provides each cell together with its matrix. */
    static final class Cells implements ArgumentsProvider {

        @Override
        public Stream<? extends Arguments> provideArguments(
                ParameterDeclarations parameters, ExtensionContext context) {
            InteropMatrix matrix = InteropMatrix.read(context::getConfigurationParameter);
            System.out.printf("Interoperability: %d cells. %s%n", matrix.cells().size(), matrix.repeat());
            context.publishReportEntry(
                    ReportKeys.ENVIRONMENT_PREFIX + "interoperability",
                    matrix.cells().size() + " cells, " + InteropMatrix.SEED + "=" + matrix.seed());
            return matrix.cells().stream().map(cell -> Arguments.of(cell, matrix));
        }
    }
}
