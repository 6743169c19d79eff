package io.rdmatest.bench;

import io.rdmatest.scenarios.cprogram.Ports;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.rping.RpingOptions;
import io.rdmatest.scenarios.rping.RpingRoles;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Verified pings per second. rping(1) tells no time: that of its client's whole run is taken, less that of a run with one ping,
 * so that neither starting nor connecting counts, but filling and comparing does. Of ours the same is taken.
 */
final class PingContest implements Contest {

    private static final int SIZE = RpingOptions.DEFAULT_SIZE;

    private final BenchContext context;
    private final int count;
    private String command = "";

    PingContest(BenchContext context, int count) {
        this.context = context;
        this.count = count;
    }

    @Override
    public Sample theirs() throws IOException, InterruptedException {
        long one = runTheirs(1);
        long all = runTheirs(count);
        if (all <= one) {
            throw new NotMeasuredException(
                    "rping took %d us for %d pings and %d us for one: allow more pings with --scale"
                            .formatted(all / 1000, count, one / 1000));
        }
        return new Sample((count - 1) * 1e9 / (all - one), Map.of("pings", count, "nanosOfOnePing", one, "nanos", all));
    }

    private long runTheirs(int pings) throws IOException, InterruptedException {
        int port = Ports.next();
        try (TimedProgram server = TimedProgram.start(
                context.step(), false, "rping", "-s", "-a", context.address(), "-p", port, "-S", SIZE)) {
            server.awaitListening();
            try (TimedProgram client = TimedProgram.start(
                    context.step(),
                    false,
                    "rping",
                    "-c",
                    "-a",
                    context.address(),
                    "-p",
                    port,
                    "-S",
                    SIZE,
                    "-C",
                    pings,
                    "-V")) {
                command = client.command();
                return client.awaitSuccess();
            }
        }
    }

    @Override
    public Sample ours() {
        long start = System.nanoTime();
        long connected = runOurs(1).connectNanos();
        long between = System.nanoTime();
        RpingRoles.ClientResult result = runOurs(count);
        long one = between - start;
        long all = System.nanoTime() - between;
        if (all <= one) {
            throw new NotMeasuredException(
                    "ours took %d us for %d pings and %d us for one: allow more pings with --scale"
                            .formatted(all / 1000, count, one / 1000));
        }
        Map<String, Object> details = new LinkedHashMap<>();
        details.put("pings", result.pings());
        details.put("bytesVerified", result.bytesVerified());
        details.put("nanosOfOnePing", one);
        details.put("nanosOfConnecting", connected);
        details.put("nanos", all);
        return new Sample((count - 1) * 1e9 / (all - one), details);
    }

    private RpingRoles.ClientResult runOurs(int pings) {
        RpingOptions options = RpingOptions.parse("-p 0 -S", SIZE, "-C", pings, "-V --timeout", context.step());
        return LocalRoles.runPair(
                        context.device(),
                        new RpingRoles.Server(options),
                        new RpingRoles.Client(options),
                        context.step())
                .client();
    }

    @Override
    public int repetitions() {
        return count;
    }

    @Override
    public Map<String, Object> parameters() {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("command", command);
        all.put("sizeBytes", SIZE);
        all.put("pings", count);
        all.put("verify", true);
        all.put("time", "the client's whole run less a run with one ping");
        return all;
    }
}
