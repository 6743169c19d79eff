package io.rdmatest.bench;

import io.rdmatest.scenarios.rstream.Exchange;
import io.rdmatest.scenarios.rstream.RstreamOptions;
import io.rdmatest.scenarios.rstream.StreamRoles;
import io.rdmatest.scenarios.stream.RmaStreamOptions;
import io.rdmatest.scenarios.stream.RmaStreamRoles;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * rstream(1) against a stream of ours: over rsockets as well, or our own over RDMA WRITE. Both run the exchange of one row as a
 * custom test; the repetitions are fewer than in the program's standard run, which takes minutes in emulation.
 */
final class StreamContest implements Contest {

    private static final String HEADING = "name bytes xfers iters total time Gb/sec usec/xfer";
    private static final Pattern ROW =
            Pattern.compile("custom (\\S+) (\\S+) (\\S+) (\\S+) (\\d+\\.\\d+)s (\\d+\\.\\d+) (\\d+\\.\\d+)");

    private final Context context;
    private final int size;
    private final int transfers;
    private final int iterations;
    private final boolean verify;
    private final boolean rma;
    private String command = "";

    /**
     * Prepares a contest.
     *
     * @param context the device and the limits
     * @param size bytes of a transfer
     * @param transfers transfers of an iteration in each direction
     * @param iterations how often
     * @param verify whether both sides compare every byte
     * @param rma whether ours is the stream over RDMA WRITE
     */
    StreamContest(Context context, int size, int transfers, int iterations, boolean verify, boolean rma) {
        this.context = context;
        this.size = size;
        this.transfers = transfers;
        this.iterations = iterations;
        this.verify = verify;
        this.rma = rma;
    }

    @Override
    public Sample theirs() throws IOException, InterruptedException {
        List<Object> words = new ArrayList<>(List.of("-S", size, "-C", transfers, "-I", iterations));
        if (verify) {
            words.addAll(List.of("-T", "v"));
        }
        ProgramRun run = ProgramRun.of(
                context,
                context.processors(),
                true,
                "rstream",
                List.of("-b", context.address()),
                List.of("-s", context.address()),
                words.toArray());
        command = run.command();
        return sample(microsPerTransfer(run.output()) * 1e3 * 2 * transfers * iterations, bytesEachWay(), Map.of());
    }

    /**
     * Reads the row that rstream printed of a custom test, strictly.
     *
     * @param lines the output of a client
     * @return the mean time of a transfer in microseconds
     * @throws NotMeasuredException if a line is missing or has an unknown format, or the program found wrong data
     */
    static double microsPerTransfer(List<String> lines) {
        for (int i = 0; i < lines.size(); i++) {
            String words = words(lines.get(i));
            if (words.startsWith("name ")) {
                if (!words.equals(HEADING)) {
                    throw changed("the columns", lines.get(i));
                }
                String next = i + 1 < lines.size() ? lines.get(i + 1) : "[its output ends]";
                Matcher row = ROW.matcher(words(next));
                if (!row.matches()) {
                    throw changed("the row of numbers", next);
                }
                return Double.parseDouble(row.group(7));
            }
        }
        throw new NotMeasuredException(
                "rstream printed no table; its last line is '%s'".formatted(lines.isEmpty() ? "" : lines.getLast()));
    }

    private static String words(String line) {
        return line.strip().replaceAll("\\s+", " ");
    }

    private static NotMeasuredException changed(String part, String line) {
        return new NotMeasuredException("rstream printed %s in a format that is not known: '%s'".formatted(part, line));
    }

    private long bytesEachWay() {
        return (long) size * transfers * iterations;
    }

    private Sample sample(double nanos, long received, Map<String, Object> more) {
        Map<String, Object> details = new LinkedHashMap<>(more);
        details.put("bytesReceived", received);
        details.put("microsPerTransfer", nanos / 1e3 / iterations / (2.0 * transfers));
        return new Sample(8.0 * 2 * bytesEachWay() / nanos, details);
    }

    @Override
    public Sample ours() {
        return rma ? overWrites() : overRsockets();
    }

    private Sample overRsockets() {
        RstreamOptions options = RstreamOptions.parse(
                "-S",
                size,
                "-C",
                transfers,
                "-I",
                iterations,
                verify ? "-T v" : "",
                "-p 0 --on-device --timeout",
                context.step());
        StreamRoles.Result result = context.runPolling(new StreamRoles.Server(options), new StreamRoles.Client(options))
                .client();
        Exchange.Timing timing = result.timings().getFirst();
        return sample(timing.nanos(), result.bytesReceived(), Map.of("bytesVerified", result.bytesVerified()));
    }

    private Sample overWrites() {
        RmaStreamOptions options = RmaStreamOptions.parse(
                "-S",
                size,
                "-C",
                transfers,
                "-I",
                iterations,
                verify ? "--verify" : "",
                "--mode split -B",
                RstreamOptions.DEFAULT_BUFFER,
                "-p 0 --timeout",
                context.step());
        RmaStreamRoles.Result result = context.runPolling(
                        new RmaStreamRoles.Server(options), new RmaStreamRoles.Client(options))
                .client();
        return sample(result.nanos(), result.bytesReceived(), Map.of("bytesVerified", result.bytesVerified()));
    }

    @Override
    public int repetitions() {
        return transfers * iterations;
    }

    @Override
    public Map<String, Object> parameters() {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("command", command);
        all.put("sizeBytes", size);
        all.put("transfers", transfers);
        all.put("iterations", iterations);
        all.put("verify", verify);
        all.put("bufferBytes", RstreamOptions.DEFAULT_BUFFER);
        all.put("processors", context.processors().toString());
        all.put("ours", rma ? "stream over RDMA WRITE" : "rsockets");
        if (rma) {
            // The program's rsockets write all of it.
            all.put("oursInTheModeSplit", "half of a transfer of at least 32 KiB is read by the receiver");
        }
        if (rma && transfers > 1) {
            // rsend(3) knows no MSG_MORE: the program posts each transfer by itself.
            all.put("oursInOneMessage", "transfers that follow each other, up to 16 KiB (FI_MORE)");
        }
        return all;
    }
}
