package io.rdmatest.scenarios;

import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.SkipReason;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.StreamRoles;
import io.rdmatest.scenarios.role.StreamRow;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Stream transfer over rsockets: the standard rows of rstream(1), and sizes that fit no buffer evenly. */
@RdmaTest
@ExtendWith(ScenarioSettingsExtension.class)
@DisplayName("Stream")
public class StreamScenarios {

    private static final Duration SCENARIO = Duration.ofSeconds(28);

    @ParameterizedTest(name = "{0}_{2}")
    @CsvSource({
        "64, 64, lat", "4k, 4096, lat", "64k, 65536, lat", "1m, 1048576, lat",
        "64, 64, bw", "4k, 4096, bw", "64k, 65536, bw", "1m, 1048576, bw"
    })
    void standard(
            String label, int size, String kind, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        // A share of rstream's counts; few large transfers take as long as many small ones.
        double scale = settings.streamScale();
        StreamRow row = kind.equals("lat") ? StreamRow.latency(size, scale) : StreamRow.bandwidth(size, scale);
        report.parameter("share of rstream's repetitions", scale);
        run(StreamRoles.Plan.single(row, true, settings.stepTimeout()), device, report);
    }

    @ParameterizedTest(name = "custom, {0} bytes")
    @ValueSource(ints = {1, 63, 1000, 4097, 65537, 1048577})
    void custom(int size, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        StreamRow row = StreamRow.custom(size, size > 65536 ? 4 : 50, 2);
        run(StreamRoles.Plan.single(row, true, settings.stepTimeout()), device, report);
    }

    @Test
    @DisplayName("both series over one listener")
    void bothSeries(FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        double scale = settings.streamScale() / 10;
        List<List<StreamRow>> series = List.of(
                StreamRow.STANDARD_SIZES.stream()
                        .map(size -> StreamRow.latency(size, scale))
                        .toList(),
                StreamRow.STANDARD_SIZES.stream()
                        .map(size -> StreamRow.bandwidth(size, scale))
                        .toList());
        run(new StreamRoles.Plan(series, true, 0, 64, settings.stepTimeout()), device, report);
    }

    @Test
    @DisplayName("all sizes of rstream -S all")
    void allSizes(FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        if (!settings.allStreamSizes()) {
            throw SkipReason.NOT_SELECTED.skip(ScenarioSettings.STREAM_SIZES + " is standard, not all");
        }
        double scale = settings.streamScale() / 10;
        List<List<StreamRow>> series = List.of(
                StreamRow.ALL_SIZES.stream()
                        .map(size -> StreamRow.latency(size, scale))
                        .toList(),
                StreamRow.ALL_SIZES.stream()
                        .map(size -> StreamRow.bandwidth(size, scale))
                        .toList());
        run(new StreamRoles.Plan(series, true, 0, 64, settings.stepTimeout()), device, report);
    }

    private static void run(StreamRoles.Plan plan, FabricDevice device, RdmaReport report) {
        List<StreamRow> rows = plan.series().stream().flatMap(List::stream).toList();
        if (rows.size() == 1) {
            StreamRow row = rows.getFirst();
            report.parameter("size", row.size());
            report.parameter("transfers", row.transfers());
            report.parameter("iterations", row.iterations());
        }
        var results = report.step(
                rows.size() == 1 ? rows.getFirst().name() : rows.size() + " rows",
                () -> LocalRoles.runPair(
                        device,
                        new StreamRoles.Server(null, 0, plan),
                        new StreamRoles.Client(null, 0, plan),
                        SCENARIO));
        report.bytesVerified(results.server().bytesVerified());
        report.bytesVerified(results.client().bytesVerified());
        for (StreamRoles.Timing timing : results.client().timings()) {
            StreamRow row = timing.row();
            String prefix = rows.size() == 1 ? "" : row.name() + " ";
            double gigabits = row.gigabitsPerSecond(timing.nanos());
            report.measurement(prefix + "throughput", gigabits, "Gb/s");
            report.measurement(prefix + "time per transfer", row.microsPerTransfer(timing.nanos()), "us");
            String series = switch (row.kind()) {
                case LATENCY -> "stream, one at a time";
                case BANDWIDTH -> "stream";
                case CUSTOM -> "stream, custom";
            };
            report.throughput(series, row.size(), gigabits);
        }
    }
}
