package io.rdmatest.scenarios;

import io.rdmatest.Measurement;
import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.scenarios.stream.RmaStreamOptions;
import io.rdmatest.scenarios.stream.RmaStreamRoles;
import io.rdmatest.stream.StreamMode;
import io.rdmatest.stream.StreamOptions;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** A byte stream over RDMA WRITE with credits (fi_rstream), in both modes: with immediate data and as on iWARP. */
@RdmaTest(timeout = "60 s")
@Tag(Phase.DATA_TAG)
@DisplayName("Stream over RDMA WRITE")
public class RmaStreamScenarios {

    private static final Duration SCENARIO = Duration.ofSeconds(55);

    @ParameterizedTest(name = "{1} bytes, {0}")
    @CsvSource({
        "IMMEDIATE, 64, 50", "IMMEDIATE, 4096, 50", "IMMEDIATE, 65536, 10", "IMMEDIATE, 1048576, 2",
        "IWARP, 64, 50", "IWARP, 4096, 50", "IWARP, 65536, 10", "IWARP, 1048576, 2",
        "SPLIT, 64, 50", "SPLIT, 4096, 50", "SPLIT, 65536, 10", "SPLIT, 1048576, 2"
    })
    void transfers(
            StreamMode mode, int size, int transfers, Stage stage, RdmaReport report, ScenarioSettings settings) {
        run(
                options(settings, mode).withTransfers(size, transfers, 2),
                stage,
                report,
                "stream over RDMA WRITE, " + mode);
    }

    @ParameterizedTest(name = "single bytes, {0}")
    @EnumSource
    void singleBytes(StreamMode mode, Stage stage, RdmaReport report, ScenarioSettings settings) {
        // More messages than there are credits, so that they bound the stream and not the rings.
        run(options(settings, mode).withTogether(false).withTransfers(1, 1000, 1), stage, report, null);
    }

    @ParameterizedTest(name = "single bytes in few messages, {0}")
    @EnumSource
    void singleBytesTogether(StreamMode mode, Stage stage, RdmaReport report, ScenarioSettings settings) {
        // More than a message holds back, and more than a ring.
        StreamOptions rings = new StreamOptions(20_011, 10_007, 16, 24, mode);
        run(options(settings, mode).withStream(rings).withTransfers(1, 50_000, 1), stage, report, null);
    }

    @ParameterizedTest(name = "both directions at once, {0}")
    @EnumSource
    void bothDirectionsAtOnce(StreamMode mode, Stage stage, RdmaReport report, ScenarioSettings settings) {
        // More than both rings hold: each side fills up before the other has taken anything.
        RmaStreamOptions options = options(settings, mode).withTransfers(200_000, 2, 2);
        run(options.withBothAtOnce(true), stage, report, "stream over RDMA WRITE, both ways, " + mode);
    }

    @ParameterizedTest(name = "rings that nothing fits evenly, {0}")
    @EnumSource
    void oddRings(StreamMode mode, Stage stage, RdmaReport report, ScenarioSettings settings) {
        StreamOptions rings = new StreamOptions(997, 1009, 16, 24, mode);
        report.parameter("send ring", rings.sendBufferBytes());
        report.parameter("receive ring", rings.receiveBufferBytes());
        run(options(settings, mode).withStream(rings).withTransfers(701, 60, 2), stage, report, null);
    }

    private static RmaStreamOptions options(ScenarioSettings settings, StreamMode mode) {
        return RmaStreamOptions.defaults()
                .withPort(0)
                .withMode(mode)
                .withVerify(true)
                .withTimeout(settings.stepTimeout(), settings.stepTimeout());
    }

    private static void run(RmaStreamOptions options, Stage stage, RdmaReport report, @Nullable String series) {
        if (options.stream().mode() != StreamMode.IWARP) {
            DeviceNeeds.of(stage).immediateData();
        }
        report.parameter("size", options.sizeBytes());
        report.parameter("transfers", options.transfers());
        report.parameter("iterations", options.iterations());
        report.parameter("mode", options.stream().mode());
        report.parameter("transfers in one message", options.together());
        var results = report.step(
                options.transfers() + " transfers of " + options.sizeBytes() + " bytes",
                () -> stage.runPair(new RmaStreamRoles.Server(options), new RmaStreamRoles.Client(options), SCENARIO));
        requireVerified(options, "server", results.server());
        requireVerified(options, "client", results.client());
        report.bytesVerified(results.server().bytesVerified());
        report.bytesVerified(results.client().bytesVerified());
        double gigabits = results.client().gigabitsPerSecond();
        report.measurement(Measurement.rate("throughput", gigabits, "Gb/s").of(options.transfers()));
        if (series != null) {
            report.throughput(series, options.sizeBytes(), gigabits);
        }
    }

    /** Whatever is lost on the way to the other node, be it an option: all that is to come came, and was compared. */
    private static void requireVerified(RmaStreamOptions options, String side, RmaStreamRoles.Result result) {
        long expected = options.bytesEachWay();
        if (result.bytesReceived() != expected || result.bytesVerified() != expected) {
            throw new AssertionError("%d bytes arrived at the %s and %d were compared, instead of %d"
                    .formatted(result.bytesReceived(), side, result.bytesVerified(), expected));
        }
    }
}
