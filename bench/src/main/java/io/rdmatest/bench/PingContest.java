package io.rdmatest.bench;

import io.rdmatest.scenarios.rping.RpingOptions;
import io.rdmatest.scenarios.rping.RpingRoles;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Verified pings per second. rping(1) tells no time: that of its client's whole run is taken, less that of a run with one ping,
 * so that neither starting nor connecting counts, but filling and comparing does. Of ours the same is taken.
 */
final class PingContest implements Contest {

    private static final int SIZE = RpingOptions.DEFAULT_SIZE;

    private final Context context;
    private final int count;
    private String command = "";

    PingContest(Context context, int count) {
        this.context = context;
        this.count = count;
    }

    @Override
    public Sample theirs() throws IOException, InterruptedException {
        long one = runTheirs(1);
        long all = runTheirs(count);
        return new Sample(perSecond("rping", all, one), Map.of("pings", count, "nanosOfOnePing", one, "nanos", all));
    }

    private long runTheirs(int pings) throws IOException, InterruptedException {
        ProgramRun run = ProgramRun.of(
                context,
                Processors.ANY,
                false,
                "rping",
                List.of("-s"),
                List.of("-c", "-C", Integer.toString(pings), "-V"),
                "-a",
                context.address(),
                "-S",
                SIZE);
        command = run.command();
        return run.nanos();
    }

    @Override
    public Sample ours() {
        long start = System.nanoTime();
        long connected = runOurs(1).connectNanos();
        long between = System.nanoTime();
        RpingRoles.ClientResult result = runOurs(count);
        long one = between - start;
        long all = System.nanoTime() - between;
        Map<String, Object> details = new LinkedHashMap<>();
        details.put("pings", result.pings());
        details.put("bytesVerified", result.bytesVerified());
        details.put("nanosOfOnePing", one);
        details.put("nanosOfConnecting", connected);
        details.put("nanos", all);
        return new Sample(perSecond("ours", all, one), details);
    }

    private double perSecond(String who, long all, long one) {
        return ProgramRun.perSecond(who, all, count, "pings", one, ": allow more pings with --scale");
    }

    private RpingRoles.ClientResult runOurs(int pings) {
        RpingOptions options = RpingOptions.parse("-p 0 -S", SIZE, "-C", pings, "-V --timeout", context.step());
        return context.runClient(new RpingRoles.Server(options), new RpingRoles.Client(options));
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
