package io.rdmatest.bench;

import io.rdmatest.scenarios.ucmatose.UcmatoseOptions;
import io.rdmatest.scenarios.ucmatose.UcmatoseRoles;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Connections per second. cmtime(1) tells the time of each step; ucmatose(1) tells none, so that its client's whole run is
 * taken, less a run with one connection: connecting and disconnecting, without messages. Of ours the same parts are taken.
 */
final class ConnectionContest implements Contest {

    private static final String HEADING = "step total ms max ms min us us / conn";
    private static final Pattern ROW =
            Pattern.compile("(\\w[\\w ]*\\w) ?: (\\d+\\.\\d+) (\\d+\\.\\d+) (\\d+\\.\\d+) (\\d+\\.\\d+)");

    /** The steps of cmtime until a connection stands. */
    private static final List<String> SET_UP =
            List.of("create id", "resolve addr", "resolve route", "create qp", "connect");

    private final Context context;
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
    ConnectionContest(Context context, int connections, boolean steps) {
        this.context = context;
        this.connections = connections;
        this.steps = steps;
    }

    @Override
    public Sample theirs() throws IOException, InterruptedException {
        if (steps) {
            Map<String, Double> millis = stepMillis(run("cmtime", connections).output());
            return new Sample(connections * 1e3 / setUpMillis(millis), Map.of("stepMillis", millis));
        }
        long one = run("ucmatose", 1, "-C", 0).nanos();
        long all = run("ucmatose", connections, "-C", 0).nanos();
        return new Sample(
                ProgramRun.perSecond("ucmatose", all, connections, "connections", one, ""),
                Map.of("nanosOfOneConnection", one, "nanos", all));
    }

    private ProgramRun run(String program, int count, Object... more) throws IOException, InterruptedException {
        ProgramRun run = ProgramRun.of(
                context,
                Processors.ANY,
                !steps,
                program,
                List.of("-b", context.address(), "-c", Integer.toString(count)),
                List.of("-s", context.address(), "-c", Integer.toString(count)),
                more);
        command = run.command();
        return run;
    }

    /**
     * Reads the steps that a client of cmtime printed, strictly.
     *
     * @param lines its lines
     * @return how long all connections together took for a step, in milliseconds, by the name of the step and in order
     * @throws NotMeasuredException if a line is missing or has an unknown format
     */
    static Map<String, Double> stepMillis(List<String> lines) {
        Map<String, Double> millis = new LinkedHashMap<>();
        boolean inTable = false;
        for (String line : lines) {
            String words = line.strip().replaceAll("\\s+", " ");
            if (words.startsWith("step ")) {
                if (!words.equals(HEADING)) {
                    throw changed("the columns", line);
                }
                inTable = true;
            } else if (inTable && !words.isEmpty()) {
                Matcher row = ROW.matcher(words);
                if (!row.matches()) {
                    throw changed("a step", line);
                }
                millis.put(row.group(1), Double.parseDouble(row.group(2)));
            }
        }
        if (!millis.keySet().containsAll(SET_UP)) {
            throw new NotMeasuredException("cmtime printed the steps %s; needed are %s; its last line is '%s'"
                    .formatted(millis.keySet(), SET_UP, lines.isEmpty() ? "" : lines.getLast()));
        }
        return millis;
    }

    /** Returns the time until all connections stood, in milliseconds. */
    static double setUpMillis(Map<String, Double> stepMillis) {
        return SET_UP.stream().mapToDouble(stepMillis::get).sum();
    }

    private static NotMeasuredException changed(String part, String line) {
        return new NotMeasuredException("cmtime printed %s in a format that is not known: '%s'".formatted(part, line));
    }

    @Override
    public Sample ours() {
        UcmatoseOptions options = UcmatoseOptions.parse("-p 0 -c", connections, "-C 0 --timeout", context.step());
        UcmatoseRoles.Result result =
                context.runClient(new UcmatoseRoles.Server(options), new UcmatoseRoles.Client(options));
        long nanos = result.setUpNanos() + (steps ? 0 : result.transferNanos() + result.tearDownNanos());
        Map<String, Object> details = new LinkedHashMap<>();
        details.put("connections", result.times().size());
        details.put("setUpNanos", result.setUpNanos());
        details.put("tearDownNanos", result.tearDownNanos());
        return new Sample(result.times().size() * 1e9 / nanos, details);
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
