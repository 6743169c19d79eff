package io.rdmatest.bench;

import io.rdmatest.scenarios.cprogram.Ports;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.ucmatose.UcmatoseOptions;
import io.rdmatest.scenarios.ucmatose.UcmatoseRoles;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Connections per second. cmtime(1) tells the time of each step; ucmatose(1) tells none, so that its client's whole run is
 * taken, less a run with one connection: connecting and disconnecting, without messages. Of ours the same parts are taken.
 */
final class ConnectionContest implements Contest {

    private final BenchContext context;
    private final int connections;
    private final boolean steps;
    private String command = "";

    /**
     * Prepares a contest.
     *
     * @param context the device and the limits
     * @param connections how many, more than 1
     * @param steps whether against cmtime, else against ucmatose
     */
    ConnectionContest(BenchContext context, int connections, boolean steps) {
        this.context = context;
        this.connections = connections;
        this.steps = steps;
    }

    @Override
    public Sample theirs() throws IOException, InterruptedException {
        return steps ? cmtime() : ucmatose();
    }

    private Sample cmtime() throws IOException, InterruptedException {
        int port = Ports.next();
        try (TimedProgram server = TimedProgram.start(
                context.step(), false, "cmtime", "-b", context.address(), "-p", port, "-c", connections)) {
            server.awaitListening();
            try (TimedProgram client = TimedProgram.start(
                    context.step(), false, "cmtime", "-s", context.address(), "-p", port, "-c", connections)) {
                long ignored = client.awaitSuccess();
                command = client.command();
                CmtimeOutput output = CmtimeOutput.of(client.output());
                return new Sample(connections * 1e3 / output.setUpMillis(), Map.of("stepMillis", output.totalMillis()));
            }
        }
    }

    private Sample ucmatose() throws IOException, InterruptedException {
        long one = ucmatose(1);
        long all = ucmatose(connections);
        if (all <= one) {
            throw new NotMeasuredException("ucmatose took %d us for %d connections and %d us for one"
                    .formatted(all / 1000, connections, one / 1000));
        }
        return new Sample((connections - 1) * 1e9 / (all - one), Map.of("nanosOfOneConnection", one, "nanos", all));
    }

    private long ucmatose(int count) throws IOException, InterruptedException {
        int port = Ports.next();
        try (TimedProgram server = TimedProgram.start(
                context.step(), false, "ucmatose", "-b", context.address(), "-p", port, "-c", count, "-C", 0)) {
            server.awaitListening();
            try (TimedProgram client = TimedProgram.start(
                    context.step(), false, "ucmatose", "-s", context.address(), "-p", port, "-c", count, "-C", 0)) {
                long nanos = client.awaitSuccess();
                long ignored = server.awaitSuccess();
                command = client.command();
                return nanos;
            }
        }
    }

    @Override
    public Sample ours() {
        UcmatoseRoles.Result result = connect();
        long nanos = result.setUpNanos() + (steps ? 0 : result.transferNanos() + result.tearDownNanos());
        Map<String, Object> details = new LinkedHashMap<>();
        details.put("connections", result.times().size());
        details.put("setUpNanos", result.setUpNanos());
        details.put("tearDownNanos", result.tearDownNanos());
        return new Sample(result.times().size() * 1e9 / nanos, details);
    }

    private UcmatoseRoles.Result connect() {
        UcmatoseOptions options = UcmatoseOptions.parse("-p 0 -c", connections, "-C 0 --timeout", context.step());
        return LocalRoles.runPair(
                        context.device(),
                        new UcmatoseRoles.Server(options),
                        new UcmatoseRoles.Client(options),
                        context.step())
                .client();
    }

    @Override
    public int repetitions() {
        return connections;
    }

    @Override
    public Map<String, Object> parameters() {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("command", command);
        all.put("connections", connections);
        all.put("messages", 0);
        all.put(
                "time",
                steps
                        ? "the client's, from the first id until all connections stand"
                        : "the client's, until everything is destroyed; theirs less a run with one connection");
        return all;
    }
}
