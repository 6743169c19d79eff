package io.rdmatest.scenarios;

import io.rdmatest.Measurement;
import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.scenarios.stream.RmaStreamOptions;
import io.rdmatest.scenarios.stream.RmaStreamRoles;
import io.rdmatest.stream.StreamMode;
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
                options(settings, mode).and("-S", size, "-C", transfers, "-I 2"),
                stage,
                report,
                "stream over RDMA WRITE, " + mode);
    }

    @ParameterizedTest(name = "single bytes, {0}")
    @EnumSource
    void singleBytes(StreamMode mode, Stage stage, RdmaReport report, ScenarioSettings settings) {
        // More messages than there are credits, so that they bound the stream and not the rings.
        run(options(settings, mode).and("--one-by-one -S 1"), stage, report, null);
    }

    @ParameterizedTest(name = "single bytes in few messages, {0}")
    @EnumSource
    void singleBytesTogether(StreamMode mode, Stage stage, RdmaReport report, ScenarioSettings settings) {
        // More than a message holds back, and more than a ring.
        String rings = "--send-buffer 20011 --receive-buffer 10007 --queue-depth 16 --receive-depth 24";
        run(options(settings, mode).and(rings, "-S 1 -C 50000"), stage, report, null);
    }

    @ParameterizedTest(name = "both directions at once, {0}")
    @EnumSource
    void bothDirectionsAtOnce(StreamMode mode, Stage stage, RdmaReport report, ScenarioSettings settings) {
        // More than both rings hold: each side fills up before the other has taken anything.
        RmaStreamOptions options = options(settings, mode).and("-S 200000 -C 2 -I 2");
        run(options.and("--both-at-once"), stage, report, "stream over RDMA WRITE, both ways, " + mode);
    }

    @ParameterizedTest(name = "rings that nothing fits evenly, {0}")
    @EnumSource
    void oddRings(StreamMode mode, Stage stage, RdmaReport report, ScenarioSettings settings) {
        String rings = "--send-buffer 997 --receive-buffer 1009 --queue-depth 16 --receive-depth 24";
        RmaStreamOptions options = options(settings, mode).and(rings, "-S 701 -C 60 -I 2");
        report.parameter("send ring", options.stream().sendBufferBytes());
        report.parameter("receive ring", options.stream().receiveBufferBytes());
        run(options, stage, report, null);
    }

    private static RmaStreamOptions options(ScenarioSettings settings, StreamMode mode) {
        return RmaStreamOptions.parse("-p 0 --mode", mode, "--verify --timeout", settings.stepTimeout());
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
