package io.rdmatest.scenarios;

import io.rdmatest.Cause;
import io.rdmatest.Measurement;
import io.rdmatest.SkipReason;
import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.peer.RemoteFailureException;
import io.rdmatest.scenarios.node.NodeRoles;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.scenarios.rstream.Exchange;
import io.rdmatest.scenarios.rstream.RstreamOptions;
import io.rdmatest.scenarios.rstream.StreamRoles;
import io.rdmatest.scenarios.rstream.StreamRow;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.opentest4j.TestAbortedException;

/** Stream transfer as rstream(1) does it: its series, its modes, and sizes that fit no buffer evenly. */
@RdmaTest(timeout = "60 s")
@ResourceLock(RdmaTest.RSOCKET_LOCK)
@Tag(Phase.DATA_TAG)
@DisplayName("Stream")
public class StreamScenarios {

    private static final Duration SCENARIO = Duration.ofSeconds(55);

    @ParameterizedTest(name = "{0}_{2}")
    @CsvSource({
        "64, 64, lat", "4k, 4096, lat", "64k, 65536, lat", "1m, 1048576, lat",
        "64, 64, bw", "4k, 4096, bw", "64k, 65536, bw", "1m, 1048576, bw"
    })
    void standard(String label, int size, String kind, Stage stage, RdmaReport report, ScenarioSettings settings) {
        // A share of rstream's counts; few large transfers take as long as many small ones.
        double scale = settings.streamScale();
        boolean latency = kind.equals("lat");
        StreamRow row = latency ? StreamRow.latency(size, scale) : StreamRow.bandwidth(size, scale);
        report.parameter("share of rstream's repetitions", scale);
        run(
                RstreamOptions.parse("-S", size, "-C", row.transfers(), "-I", row.iterations(), "-T v"),
                stage,
                report,
                settings);
    }

    @ParameterizedTest(name = "{0}")
    @EachOptionLine({
        "-T v -S 1 -C 50 -I 2",
        "-T v -S 63 -C 50 -I 2",
        "-T v -S 1000 -C 50 -I 2",
        "-T v -S 4097 -C 50 -I 2",
        "-T v -S 65537 -C 4 -I 2",
        "-T v -S 1048577 -C 4 -I 2"
    })
    void custom(RstreamOptions options, Stage stage, RdmaReport report, ScenarioSettings settings) {
        run(options, stage, report, settings);
    }

    @ParameterizedTest(name = "{0}")
    @EachOptionLine({
        "-T n,v -S 3000 -C 20 -I 5",
        "-T b,v -S 3000 -C 20 -I 5",
        "-T a,v -S 3000 -C 20 -I 5",
        "-T a,b,v -S 3000 -C 20 -I 5",
        "-T s,v -S 3000 -C 20 -I 5",
        "-T s,a,v -S 3000 -C 20 -I 5",
        "-T s,b,v -S 3000 -C 20 -I 5",
        "-T v -S 3000 -C 20 -I 5 -B 8192",
        "-T v -S 300000 -C 3 -B 2097152",
        "-T v -S 3000 -C 20 -k 5",
        "-T f,v -S 3000 -C 20 -I 5",
        "-T v --scale 0.0005 -i 256",
        "-T s,v --scale 0.0005",
        "-T f,v --scale 0.0005"
    })
    void mode(RstreamOptions options, Stage stage, RdmaReport report, ScenarioSettings settings, Wire wire) {
        expect(options, wire);
        run(options, stage, report, settings);
    }

    @Test
    @DisplayName("both series over one listener")
    void bothSeries(Stage stage, RdmaReport report, ScenarioSettings settings) {
        report.parameter("share of rstream's repetitions", settings.streamScale());
        run(RstreamOptions.parse("-T v --scale", settings.streamScale() / 10), stage, report, settings);
    }

    @Test
    @DisplayName("all sizes of rstream -S all")
    void allSizes(Stage stage, RdmaReport report, ScenarioSettings settings) {
        if (!settings.allStreamSizes()) {
            throw new TestAbortedException(
                    SkipReason.NOT_SELECTED.because(ScenarioSettings.STREAM_SIZES + " is standard, not all"));
        }
        report.parameter("share of rstream's repetitions", settings.streamScale());
        run(RstreamOptions.parse("-S all -T v --scale", settings.streamScale() / 10), stage, report, settings);
    }

    @ParameterizedTest(name = "{0} clients at once")
    @ValueSource(ints = {2, 8})
    void manyClients(int clients, Stage stage, RdmaReport report, ScenarioSettings settings) {
        RstreamOptions options = common(RstreamOptions.parse("-S 5000 -C 10 -I 5 -T v"), settings);
        report.parameter("clients", clients);
        long verified = report.step(clients + " clients", () -> runMany(options, clients, stage));
        report.bytesVerified(verified);
    }

    /** Both sides of the default suite from several clients: each series finds its place in its own client's stream. */
    @ParameterizedTest(name = "{0}")
    @EachOptionLine({"-T v --scale 0.0002 --clients 3", "-T f,v --scale 0.0002 --clients 3"})
    void manyClientsOfTheWholeSuite(
            RstreamOptions options, Stage stage, RdmaReport report, ScenarioSettings settings, Wire wire) {
        expect(options, wire);
        report.bytesVerified(
                report.step("3 clients", () -> runMany(common(options, settings), options.clients(), stage)));
    }

    private static void expect(RstreamOptions options, Wire wire) {
        if (options.transport() == RstreamOptions.Transport.TCP) {
            wire.silent("TCP carries the stream");
        }
    }

    private static long runMany(RstreamOptions options, int clients, Stage stage) {
        try (NodeRoles roles = new NodeRoles()) {
            Running<StreamRoles.Result> server =
                    roles.start("server", stage.server(), new StreamRoles.Server(options.and("--clients", clients)));
            int port = Integer.parseInt(server.hear("port", options.timeout()));
            Role<StreamRoles.Result> client = new StreamRoles.Client(options.and("-p", port));
            List<Running<StreamRoles.Result>> running = new ArrayList<>();
            for (int i = 0; i < clients; i++) {
                running.add(roles.start("client-" + i, stage.client(), client, stage.server()));
            }
            long verified = 0;
            for (Running<StreamRoles.Result> each : running) {
                verified += each.join(SCENARIO).bytesVerified();
            }
            return verified + server.join(SCENARIO).bytesVerified();
        }
    }

    /** Lets the sides find each other on the device under test. */
    static RstreamOptions common(RstreamOptions options, ScenarioSettings settings) {
        return options.and("-p 0 --on-device --timeout", settings.stepTimeout());
    }

    private static void run(RstreamOptions given, Stage stage, RdmaReport report, ScenarioSettings settings) {
        RstreamOptions options = common(given, settings);
        List<StreamRow> rows = options.series().stream().flatMap(List::stream).toList();
        if (rows.size() == 1) {
            StreamRow row = rows.getFirst();
            report.parameter("size", row.size());
            report.parameter("transfers", row.transfers());
            report.parameter("iterations", row.iterations());
        }
        report.parameter("transport", options.transport());
        var results = report.step(rows.size() == 1 ? rows.getFirst().name() : rows.size() + " rows", () -> {
            try {
                return stage.runPair(new StreamRoles.Server(options), new StreamRoles.Client(options), SCENARIO);
            } catch (ScenarioException | RemoteFailureException e) {
                // The device sends less inline (-i).
                throw Cause.of(e) == Cause.UNSUPPORTED
                        ? new TestAbortedException(SkipReason.UNSUPPORTED_BY_DEVICE.because(e.getMessage()))
                        : e;
            }
        });
        requireVerified(options, "server", results.server());
        requireVerified(options, "client", results.client());
        report.bytesVerified(results.server().bytesVerified());
        report.bytesVerified(results.client().bytesVerified());
        for (Exchange.Timing timing : results.client().timings()) {
            StreamRow row = timing.row();
            String prefix = rows.size() == 1 ? "" : row.name() + " ";
            double gigabits = row.gigabitsPerSecond(timing.nanos());
            report.measurement(
                    Measurement.rate(prefix + "throughput", gigabits, "Gb/s").of(row.transfers()));
            report.measurement(new Measurement(
                    prefix + "time per transfer",
                    Measurement.Kind.DURATION,
                    row.microsPerTransfer(timing.nanos()),
                    "us",
                    Measurement.Better.LOWER,
                    null,
                    row.transfers()));
            if (timing.latency() != null && rows.size() == 1 && row.transfers() == 1) {
                report.latency("time per transfer", timing.latency());
            }
            if (options.transport() == RstreamOptions.Transport.RSOCKET) {
                report.throughput(row.transfers() == 1 ? "stream, one at a time" : "stream", row.size(), gigabits);
            }
        }
    }

    /** Whatever is lost on the way to the other node, be it an option: where all is to be compared, all was. */
    private static void requireVerified(RstreamOptions options, String side, StreamRoles.Result result) {
        long expected = options.verify() ? result.bytesReceived() : 0;
        if (result.bytesReceived() == 0 || result.bytesVerified() != expected) {
            throw new AssertionError("%d bytes arrived at the %s, of which %d were compared instead of %d"
                    .formatted(result.bytesReceived(), side, result.bytesVerified(), expected));
        }
    }
}
