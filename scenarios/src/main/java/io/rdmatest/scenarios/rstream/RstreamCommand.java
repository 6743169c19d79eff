package io.rdmatest.scenarios.rstream;

import io.rdmatest.scenarios.command.FailedClients;
import io.rdmatest.scenarios.command.Outcome;
import io.rdmatest.scenarios.command.ProgramCommand;
import io.rdmatest.scenarios.options.AddressOptions;
import io.rdmatest.scenarios.role.RoleContext;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.HdrHistogram.Histogram;
import picocli.CommandLine.Command;

/** {@code ./rdmatest rstream}: one side of rstream(1). */
@Command(
        name = "rstream",
        sortOptions = false,
        description = {
            "Streams data over RDMA (rsockets) to a server and back, as rstream(1) does: a latency and a bandwidth series over"
                    + " two connections, or with -I, -C or a numeric -S one custom test.",
            "Both sides need the same -S, -C, -I and -T v. With -T v, a wrong byte fails the run in every test."
        })
public final class RstreamCommand extends ProgramCommand<RstreamOptions> {

    public RstreamCommand() {
        super(new RstreamOptions());
    }

    @Override
    protected void checkCommandLine() {
        if (options.serverAddress() != null && options.port() == 0) {
            throw new IllegalArgumentException("The port of the server (-p) is 1 to 65535, not 0");
        }
        if (options.serverAddress() != null && isGiven("--clients")) {
            throw new IllegalArgumentException("--clients applies to servers only");
        }
    }

    @Override
    protected Outcome run(RoleContext context) {
        if (options.transport() != RstreamOptions.Transport.TCP) {
            requireOnDevice(
                    context, AddressOptions.figures(options.bindAddress()).orElse(null));
        }
        FailedClients failed = new FailedClients();
        StreamRoles.Result result = options.serverAddress() != null
                ? new StreamRoles.Client(options).run(context)
                : new StreamRoles.Server(options).run(context, failed);
        Throwable failure = failed.decisive();
        return failure == null
                ? new Outcome(lines(result), json(result))
                : Outcome.ofFailedClients(failed(result), failure, lines(result), json(result));
    }

    /** Each series of a client is a connection of its own. */
    private String failed(StreamRoles.Result result) {
        int failed = result.failures().size();
        return "%d of %d %s failed"
                .formatted(
                        failed,
                        result.connections() + failed,
                        options.suite() == RstreamOptions.Suite.CUSTOM ? "clients" : "connections");
    }

    private List<String> lines(StreamRoles.Result result) {
        List<String> lines = new ArrayList<>();
        lines.add("%s: %d %s over %s, %d bytes received, %s"
                .formatted(
                        !result.failures().isEmpty()
                                ? failed(result)
                                : options.verify() ? "verified" : "done, not verified (-T v)",
                        result.timings().size(),
                        result.timings().size() == 1 ? "test" : "tests",
                        options.transport() == RstreamOptions.Transport.TCP ? "TCP" : "rsockets",
                        result.bytesReceived(),
                        options.verify() ? result.bytesVerified() + " compared" : "none compared"));
        for (String failure : result.failures()) {
            lines.add("failed client: " + failure);
        }
        if (!result.timings().isEmpty()) {
            lines.add(StreamRow.heading() + "%10s%10s%10s%10s".formatted("p50", "p99", "p99.9", "max"));
        }
        for (Exchange.Timing timing : result.timings()) {
            Histogram latency = timing.latency();
            lines.add(timing.row().line(timing.nanos())
                    + (latency == null
                            ? ""
                            : String.format(
                                    Locale.ROOT,
                                    "%10.2f%10.2f%10.2f%10.2f",
                                    latency.getValueAtPercentile(50) / 1e3,
                                    latency.getValueAtPercentile(99) / 1e3,
                                    latency.getValueAtPercentile(99.9) / 1e3,
                                    latency.getMaxValue() / 1e3)));
        }
        return lines;
    }

    private Map<String, Object> json(StreamRoles.Result result) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("transport", options.transport().name().toLowerCase(Locale.ROOT));
        json.put("verify", options.verify());
        json.put("connections", result.connections());
        json.put("bytesReceived", result.bytesReceived());
        json.put("bytesVerified", result.bytesVerified());
        json.put("failures", result.failures());
        List<Map<String, Object>> tests = new ArrayList<>();
        for (Exchange.Timing timing : result.timings()) {
            StreamRow row = timing.row();
            Map<String, Object> test = new LinkedHashMap<>();
            test.put("name", row.name());
            test.put("bytes", row.size());
            test.put("transfers", row.transfers());
            test.put("iterations", row.iterations());
            test.put("totalBytes", row.totalBytes());
            test.put("seconds", timing.nanos() / 1e9);
            test.put("gigabitsPerSecond", row.gigabitsPerSecond(timing.nanos()));
            test.put("microsPerTransfer", row.microsPerTransfer(timing.nanos()));
            Histogram latency = timing.latency();
            if (latency != null) {
                test.put("microsP50", latency.getValueAtPercentile(50) / 1e3);
                test.put("microsP90", latency.getValueAtPercentile(90) / 1e3);
                test.put("microsP99", latency.getValueAtPercentile(99) / 1e3);
                test.put("microsP999", latency.getValueAtPercentile(99.9) / 1e3);
                test.put("microsP9999", latency.getValueAtPercentile(99.99) / 1e3);
                test.put("microsMax", latency.getMaxValue() / 1e3);
            }
            tests.add(test);
        }
        json.put("tests", tests);
        return json;
    }
}
