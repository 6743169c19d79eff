package io.rdmatest.bench;

import io.rdmatest.scenarios.cprogram.PerftestOutput;
import io.rdmatest.scenarios.pairs.PairRoles;
import io.rdmatest.scenarios.pairs.PairRoles.Moved;
import io.rdmatest.scenarios.pairs.PairRoles.Operation;
import io.rdmatest.scenarios.pingpong.PingPongRoles;
import io.rdmatest.scenarios.pingpong.PingPongRoles.Pace;
import io.rdmatest.scenarios.role.LocalRoles.Pair;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * A program of perftest against the roles that measure a pair of nodes: the ping-pong for latencies, and the stream of one queue pair
 * for bandwidths and message rates.
 *
 * <p>The ping-pong takes size, number of messages and inline size from the program. The stream takes the size. It ends by its time,
 * has as much in flight as {@link PairRoles#messagesInFlight} says, and announces room for each list of SENDs.
 */
final class PerftestContest implements Contest {

    private static final double MIB = 1 << 20;

    private final Context context;
    private final Operation operation;
    private final Kind kind;
    private final List<String> options;
    private PerftestOutput.@Nullable Parameters parameters;
    private String command = "";
    private int repetitions;

    /** What is measured. */
    enum Kind {
        /** The median of half a round trip, for READ of a whole one, in microseconds. */
        LATENCY(0),
        /** MiB per second. */
        BANDWIDTH(1000),
        /** Messages per second. */
        MESSAGE_RATE(200);

        private final int millis;

        Kind(int millis) {
            this.millis = millis;
        }
    }

    /**
     * Prepares a contest.
     *
     * @param context the device and the limits
     * @param operation what is posted
     * @param kind what is measured
     * @param options of the program, the same on both of its sides
     */
    PerftestContest(Context context, Operation operation, Kind kind, List<String> options) {
        this.context = context;
        this.operation = operation;
        this.kind = kind;
        this.options = List.copyOf(options);
    }

    /** Returns the name of an operation in lower case. */
    static String lower(Operation operation) {
        return operation.name().toLowerCase(Locale.ROOT);
    }

    /** Returns the name of the program that measures an operation. */
    static String program(Operation operation, Kind kind) {
        return "ib_" + lower(operation) + (kind == Kind.LATENCY ? "_lat" : "_bw");
    }

    @Override
    public Sample theirs() throws IOException, InterruptedException {
        List<Object> words = new ArrayList<>(List.of(
                "-d",
                context.device().device().name(),
                "-i",
                context.device().port(),
                "-x",
                context.device().gid().index(),
                // Without it the program refuses to measure where the processor's frequency may change.
                "-F"));
        words.addAll(options);
        ProgramRun run = ProgramRun.of(
                context,
                context.processors(),
                true,
                program(operation, kind),
                List.of(),
                List.of(context.address()),
                words.toArray());
        command = run.command();
        return sample(
                kind == Kind.LATENCY ? PerftestOutput.latency(run.output()) : PerftestOutput.bandwidth(run.output()));
    }

    private Sample sample(PerftestOutput output) {
        parameters = output.parameters();
        Map<String, Object> details = new LinkedHashMap<>();
        details.put("iterations", output.parameters().iterations());
        details.put("bytes", output.parameters().sizeBytes());
        PerftestOutput.Latency latency = output.latency();
        if (latency != null) {
            details.put("p50", latency.typical());
            details.put("p99", latency.p99());
            details.put("p999", latency.p999());
            details.put("max", latency.max());
            return new Sample(latency.typical(), details);
        }
        PerftestOutput.Bandwidth bandwidth = output.bandwidth();
        if (bandwidth == null) {
            throw new IllegalStateException("neither a latency nor a bandwidth");
        }
        details.put("averageMiBPerSecond", bandwidth.averageMiB());
        details.put("messagesPerSecond", bandwidth.millionMessages() * 1e6);
        return new Sample(
                kind == Kind.MESSAGE_RATE ? bandwidth.millionMessages() * 1e6 : bandwidth.averageMiB(), details);
    }

    @Override
    public Sample ours() {
        PerftestOutput.Parameters both = parameters;
        if (both == null) {
            throw new IllegalStateException("ours takes its parameters from the program, which has not run");
        }
        return kind == Kind.LATENCY ? roundTrips(both) : stream(both.sizeBytes());
    }

    private Sample roundTrips(PerftestOutput.Parameters both) {
        PingPongRoles.Plan plan = PingPongRoles.Plan.parse(
                "--connection raw --operation",
                lower(operation),
                "-S",
                both.sizeBytes(),
                "-C",
                both.iterations(),
                both.sizeBytes() <= both.inlineBytes() ? "--inline" : "",
                "--timeout",
                context.step());
        Pair<PingPongRoles.Result, PingPongRoles.Result> results =
                context.runPolling(new PingPongRoles.Server(plan), new PingPongRoles.Client(plan));
        Histogram nanos = results.client().latencies();
        repetitions = results.client().iterations();
        long clientMessages = repetitions;
        long serverMessages = operation == Operation.READ ? 0 : results.server().iterations();
        Map<String, Object> details = new LinkedHashMap<>();
        details.put("messagesOfClient", clientMessages);
        details.put("messagesOfServer", serverMessages);
        details.put("bytesMoved", (clientMessages + serverMessages) * both.sizeBytes());
        details.put(
                "bytesVerified",
                results.client().bytesVerified() + results.server().bytesVerified());
        return new Sample(nanos.getValueAtPercentile(50) / (operation == Operation.READ ? 1e3 : 2e3), details);
    }

    private Sample stream(int size) {
        boolean rate = kind == Kind.MESSAGE_RATE;
        PairRoles.Plan plan = new PairRoles.Plan(
                null,
                Pace.PLAIN,
                operation,
                false,
                1,
                rate ? 0 : size,
                rate ? size : 0,
                Duration.ofMillis(context.scaled(kind.millis)),
                context.step(),
                false);
        Pair<PairRoles.Result, PairRoles.Result> results =
                context.runPolling(new PairRoles.Server(plan), new PairRoles.Client(plan));
        PairRoles.Result poster = PairRoles.poster(operation, results.server(), results.client());
        Moved moved = rate ? poster.rate() : poster.bandwidth();
        repetitions = Math.toIntExact(moved.messages() / listOf(size));
        Map<String, Object> details = new LinkedHashMap<>();
        details.put("messagesCompleted", moved.messages());
        details.put("bytesMoved", moved.bytes());
        details.put("bytesVerified", results.server().bytesVerified());
        details.put("seconds", moved.nanos() / 1e9);
        return new Sample(rate ? moved.messagesPerSecond() : moved.bitsPerSecond() / 8 / MIB, details);
    }

    /** Returns how many messages of a size ours posts with one call. */
    private static int listOf(int size) {
        return PairRoles.messagesInFlight(size) / PairRoles.LISTS;
    }

    @Override
    public int repetitions() {
        return repetitions;
    }

    @Override
    public Map<String, Object> parameters() {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("command", command);
        PerftestOutput.Parameters both = parameters;
        if (both != null) {
            all.put("sizeBytes", both.sizeBytes());
            all.put("iterations", both.iterations());
            all.put("txDepth", both.txDepth());
            all.put("rxDepth", both.rxDepth());
            all.put("cqModeration", both.cqModeration());
            all.put("mtuBytes", both.mtuBytes());
            all.put("inlineBytes", both.inlineBytes());
            all.put("outstandingReads", both.outstandingReads());
            if (kind != Kind.LATENCY) {
                all.put("ourMessagesInFlight", PairRoles.messagesInFlight(both.sizeBytes()));
                all.put("ourPostList", listOf(both.sizeBytes()));
                all.put("theirPostList", 1);
            }
        }
        all.put("polling", "busy, both ends");
        all.put("processors", context.processors().toString());
        return all;
    }
}
