package io.rdmatest.scenarios;

import io.rdmatest.Cause;
import io.rdmatest.Measurement;
import io.rdmatest.SkipReason;
import io.rdmatest.fabric.Rate;
import io.rdmatest.fabric.Thresholds.Percentile;
import io.rdmatest.junit.FabricError;
import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.scenarios.pingpong.PingPongRoles;
import io.rdmatest.scenarios.rstream.Exchange;
import io.rdmatest.scenarios.rstream.RstreamOptions;
import io.rdmatest.scenarios.rstream.StreamRoles;
import io.rdmatest.scenarios.rstream.StreamRow;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.opentest4j.TestAbortedException;

/** Whether the fabric is as fast as its file demands; skipped for what the file demands nothing of. */
@RdmaTest(timeout = "60 s")
@Tag(Phase.PERFORMANCE_TAG)
@DisplayName("Thresholds")
public class ThresholdScenarios {

    private static final Duration SCENARIO = Duration.ofSeconds(25);

    private static final int SIZE = 64;

    /** Of fewer, the 99.9th percentile would be little else than the largest one. */
    private static final int REPETITIONS = 10;

    private static final int STREAM_SIZE = 1 << 20;

    @Test
    @DisplayName("round trips of 64 bytes")
    void roundTrip(Nodes nodes, Stage stage, RdmaReport report, ScenarioSettings settings) {
        Map<Percentile, Duration> demanded = nodes.thresholds().roundTrip();
        if (demanded.isEmpty()) {
            throw new TestAbortedException(
                    SkipReason.NOT_SELECTED.because("the fabric " + nodes.fabric() + " has no thresholds: round-trip"));
        }
        // The first ones are the compiler's and the caches' doing.
        report.step("warm-up", () -> pingPong(settings.pingPongIterations(), stage, report, settings));
        int iterations = Math.multiplyExact(REPETITIONS, settings.pingPongIterations());
        report.parameter("size", SIZE);
        report.parameter("iterations", iterations);
        Histogram measured =
                report.step(iterations + " times SEND", () -> pingPong(iterations, stage, report, settings));
        report.latency("round trip", measured);
        List<String> slow = new ArrayList<>();
        demanded.forEach((percentile, most) -> {
            long nanos = nanos(measured, percentile);
            report.measurement(Measurement.limit("demanded: round trip " + percentile, most.toNanos() / 1e3, "us"));
            if (nanos > most.toNanos()) {
                slow.add("%s %s us, at most %s us".formatted(percentile, nanos / 1e3, most.toNanos() / 1e3));
            }
        });
        if (!slow.isEmpty()) {
            throw new FabricError(
                    Cause.THRESHOLD_MISSED,
                    "Round trips are slower than the fabric " + nodes.fabric() + " demands: "
                            + String.join("; ", slow));
        }
    }

    private static Histogram pingPong(int iterations, Stage stage, RdmaReport report, ScenarioSettings settings) {
        PingPongRoles.Plan plan =
                PingPongRoles.Plan.parse("-S", SIZE, "-C", iterations, "--timeout", settings.stepTimeout());
        var results = stage.runPair(new PingPongRoles.Server(plan), new PingPongRoles.Client(plan), SCENARIO);
        report.bytesVerified(results.server().bytesVerified());
        report.bytesVerified(results.client().bytesVerified());
        return results.client().latencies();
    }

    private static long nanos(Histogram measured, Percentile percentile) {
        return switch (percentile) {
            case P50 -> measured.getValueAtPercentile(50);
            case P99 -> measured.getValueAtPercentile(99);
            case P99_9 -> measured.getValueAtPercentile(99.9);
            case MAX -> measured.getMaxValue();
        };
    }

    /** Not verified: what is measured is the fabric, not this side's comparing. The stream scenarios verify the same. */
    @Test
    @ResourceLock(RdmaTest.RSOCKET_LOCK)
    @DisplayName("throughput of a stream, 1 MiB")
    void throughput(Nodes nodes, Stage stage, RdmaReport report, ScenarioSettings settings) {
        Rate demanded = nodes.thresholds().throughput();
        if (demanded == null) {
            throw new TestAbortedException(
                    SkipReason.NOT_SELECTED.because("the fabric " + nodes.fabric() + " has no thresholds: throughput"));
        }
        StreamRow row = StreamRow.bandwidth(STREAM_SIZE, settings.streamScale());
        stream(StreamRow.bandwidth(STREAM_SIZE, settings.streamScale() / 10), "warm-up", stage, report, settings);
        Rate measured = stream(row, row.name(), stage, report, settings);
        report.parameter("size", STREAM_SIZE);
        report.parameter("transfers", row.transfers());
        report.measurement(Measurement.rate("throughput", measured.gigabitsPerSecond(), "Gb/s")
                .of(row.transfers()));
        report.measurement(Measurement.limit("demanded: throughput", demanded.gigabitsPerSecond(), "Gb/s"));
        if (measured.compareTo(demanded) < 0) {
            throw new FabricError(
                    Cause.THRESHOLD_MISSED,
                    "A stream is slower than the fabric %s demands: %.4g Gb/s, at least %s"
                            .formatted(nodes.fabric(), measured.gigabitsPerSecond(), demanded));
        }
    }

    private static Rate stream(StreamRow row, String step, Stage stage, RdmaReport report, ScenarioSettings settings) {
        RstreamOptions options = StreamScenarios.common(
                RstreamOptions.parse("-S", row.size(), "-C", row.transfers(), "-I", row.iterations()), settings);
        var results = report.step(
                step, () -> stage.runPair(new StreamRoles.Server(options), new StreamRoles.Client(options), SCENARIO));
        Exchange.Timing timing = results.client().timings().getFirst();
        return Rate.ofGigabitsPerSecond(timing.row().gigabitsPerSecond(timing.nanos()));
    }
}
