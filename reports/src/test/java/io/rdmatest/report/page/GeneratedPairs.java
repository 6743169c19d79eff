package io.rdmatest.report.page;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Random;

/**
 * Writes a {@code pairs.jsonl} of a fabric that does not exist, with bad parts: one port that receives at less than half the rate,
 * one path that fails, one leaf to which another one sends slowly, and one node that can't measure.
 *
 * @param nodes how many there are
 * @param leafSize how many of them are at a leaf
 * @param rails how many rails each has
 */
record GeneratedPairs(int nodes, int leafSize, int rails) {

    private static final double LINE_RATE = 100e9;

    void write(Path file) throws IOException {
        Random random = new Random(33);
        try (BufferedWriter writer = Files.newBufferedWriter(file)) {
            for (int rail = 0; rail < rails; rail++) {
                for (int from = 0; from < nodes; from++) {
                    for (int to = 0; to < nodes; to++) {
                        if (from != to) {
                            writer.write(cell(rail, from, to, random));
                        }
                    }
                }
            }
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    static String name(int node) {
        return String.format(Locale.ROOT, "n%03d", node + 1);
    }

    /** Returns the node whose port receives slowly, on the first rail. */
    int slowReceiver() {
        return nodes * 2 / 5;
    }

    private String cell(int rail, int from, int to, Random random) {
        double bandwidth = 0.965 * LINE_RATE * (1 - Math.abs(random.nextGaussian()) * 0.008);
        double latency = 3.2e-6 * (1 + random.nextGaussian() * 0.03) * (from / leafSize == to / leafSize ? 1 : 1.25);
        double tail = latency * (1.5 + Math.abs(random.nextGaussian()) * 0.2);
        double rate = 4.1e6 * (1 + random.nextGaussian() * 0.02);
        String counters = "{\"from\": {}, \"to\": {}}";
        if (rail == 0 && to == slowReceiver()) {
            bandwidth *= 0.42;
            rate *= 0.45;
            tail *= 6;
            counters = "{\"from\": {\"packet_seq_err\": %d}, \"to\": {\"out_of_sequence\": %d, \"np_cnp_sent\": 0}}"
                    .formatted(random.nextInt(50, 90), random.nextInt(400, 900));
        }
        if (rail == rails - 1 && nodes > 4 * leafSize && from / leafSize == 1 && to / leafSize == 3) {
            bandwidth *= 0.6;
        }
        if (from == 1 && to == 0) {
            return line(rail, from, to, "failed", "\"RETRY_EXCEEDED\"", ", \"counters\": " + counters);
        }
        if (nodes > leafSize && (from == nodes - 1 || to == nodes - 1)) {
            return line(rail, from, to, "not measured", "\"HOST_NOT_READY\"", "");
        }
        String values = String.format(
                Locale.ROOT,
                ", \"bandwidth\": %.4e, \"messageRate\": %.4e, \"latencyP50\": %.4e, \"latencyP99\": %.4e, \"samples\": 1000,"
                        + " \"bytesVerified\": 65536, \"counters\": %s",
                bandwidth,
                rate,
                latency,
                tail,
                counters);
        return line(rail, from, to, "measured", "null", values);
    }

    private String line(int rail, int from, int to, String outcome, String cause, String rest) {
        return ("{\"schema\": \"pairs/1\", \"rail\": \"rail%d\", \"from\": \"%s\", \"to\": \"%s\", \"fromLeaf\": \"leaf%d\","
                        + " \"toLeaf\": \"leaf%d\", \"attempts\": 1, \"outcome\": \"%s\", \"cause\": %s, \"lineRate\": 100e9%s}\n")
                .formatted(rail, name(from), name(to), from / leafSize, to / leafSize, outcome, cause, rest);
    }
}
