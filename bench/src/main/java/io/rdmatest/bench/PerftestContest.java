package io.rdmatest.bench;

import io.rdmatest.scenarios.cprogram.PerftestOutput;
import io.rdmatest.scenarios.cprogram.Ports;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A program of perftest against an engine of ours on raw verbs. Ours takes the parameters that the program says it used: queue
 * depths, moderation, MTU, inline size and number of messages.
 */
final class PerftestContest implements Contest {

    private final BenchContext context;
    private final Operation operation;
    private final Kind kind;
    private final List<String> options;
    private final int list;
    private PerftestOutput.@Nullable Parameters parameters;
    private @Nullable QueuePairs pairs;
    private String command = "";

    /** What is measured. */
    enum Kind {
        LATENCY,
        BANDWIDTH,
        MESSAGE_RATE
    }

    /**
     * Prepares a contest.
     *
     * @param context the device and the limits
     * @param operation what is posted
     * @param kind what is measured
     * @param options of the program, the same on both of its sides
     * @param list how many requests ours posts with one downcall
     */
    PerftestContest(BenchContext context, Operation operation, Kind kind, List<String> options, int list) {
        this.context = context;
        this.operation = operation;
        this.kind = kind;
        this.options = List.copyOf(options);
        this.list = list;
    }

    @Override
    public Sample theirs() throws IOException, InterruptedException {
        String program = kind == Kind.LATENCY ? operation.latencyProgram() : operation.bandwidthProgram();
        List<Object> words = new ArrayList<>(List.of(
                "-d",
                context.device().device().name(),
                "-i",
                context.device().port(),
                "-x",
                context.device().gid().index(),
                // Without it the program refuses to measure where the processor's frequency may change.
                "-F",
                "-p",
                Ports.next()));
        words.addAll(options);
        try (TimedProgram server =
                TimedProgram.polling(context.step(), context.processors().server(), program, words.toArray())) {
            server.awaitListening();
            words.add(context.address());
            try (TimedProgram client =
                    TimedProgram.polling(context.step(), context.processors().client(), program, words.toArray())) {
                long ignored = client.awaitSuccess();
                ignored = server.awaitSuccess();
                command = client.command();
                return sample(client.output());
            }
        }
    }

    private Sample sample(List<String> lines) {
        PerftestOutput output = kind == Kind.LATENCY ? PerftestOutput.latency(lines) : PerftestOutput.bandwidth(lines);
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
    public Sample ours() throws InterruptedException {
        PerftestOutput.Parameters wanted = parameters;
        if (wanted == null) {
            throw new IllegalStateException("ours takes its parameters from the program, which has not run");
        }
        QueuePairs ours = pairs;
        if (ours == null || !ours.parameters().equals(wanted)) {
            close();
            ours = new QueuePairs(context.device(), wanted);
            pairs = ours;
        }
        return switch (kind) {
            case LATENCY -> new LatencyRun(ours, operation, context).run();
            case BANDWIDTH -> new BandwidthRun(ours, operation, list, context).run(false);
            case MESSAGE_RATE -> new BandwidthRun(ours, operation, list, context).run(true);
        };
    }

    @Override
    public int repetitions() {
        PerftestOutput.Parameters both = parameters;
        return both == null ? 0 : Math.ceilDiv(both.iterations(), list);
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
        }
        all.put("polling", "busy, both ends");
        all.put("processors", context.processors().toString());
        if (kind != Kind.LATENCY) {
            all.put("ourPostList", list);
            all.put("theirPostList", 1);
        }
        return all;
    }

    @Override
    public void close() {
        QueuePairs ours = pairs;
        pairs = null;
        if (ours != null) {
            ours.close();
        }
    }
}
