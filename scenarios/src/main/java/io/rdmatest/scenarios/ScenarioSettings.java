package io.rdmatest.scenarios;

import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/**
 * How much a scenario does. The defaults suit a device in software emulation; ask for it as a parameter of a test.
 *
 * <p>The keys work from {@code junit-platform.properties}, as system properties and from the launcher.
 *
 * @param pingPongIterations round trips of a ping-pong, {@value #PING_PONG_ITERATIONS}
 * @param streamScale the share of rstream's own repetitions, {@value #STREAM_SCALE}
 * @param allStreamSizes whether streams go over all 33 sizes of {@code rstream -S all}, {@value #STREAM_SIZES}
 * @param stepTimeout how long a role waits for any one step, {@value #STEP_TIMEOUT}
 * @param allPairs whether all pairs of the fabric's nodes are measured, {@value #PAIRS}
 * @param pairsOutlier by which factor above what is usual among all pairs one is bad, {@value #PAIRS_OUTLIER}
 * @param pairsMeasure what is measured of each pair, {@value #PAIRS_MEASURE}
 * @param pairsQueuePairs over how many queue pairs data flows between two nodes, {@value #PAIRS_QPS}
 * @param pairsSize bytes of the messages by which bandwidth is measured, {@value #PAIRS_SIZE}
 * @param pairsTime how long each of them is measured, {@value #PAIRS_TIME}
 * @param pairsFile where a line for each pair is written; empty for nowhere, {@value #PAIRS_FILE}
 * @param wire whether what passes between nodes is captured and judged, {@value #WIRE}
 */
public record ScenarioSettings(
        int pingPongIterations,
        double streamScale,
        boolean allStreamSizes,
        Duration stepTimeout,
        boolean allPairs,
        double pairsOutlier,
        Set<PairsMeasure> pairsMeasure,
        int pairsQueuePairs,
        int pairsSize,
        Duration pairsTime,
        String pairsFile,
        boolean wire) {

    /** What is measured of a pair. */
    public enum PairsMeasure {
        /** Round trips of 64 bytes. */
        LATENCY,
        /** Payload of large RDMA WRITEs per second. */
        BANDWIDTH,
        /** Small RDMA WRITEs per second. */
        RATE
    }

    /** Round trips of a ping-pong, at least 1; 200 unless set. */
    public static final String PING_PONG_ITERATIONS = "rdma.pingpong.iterations";

    /** The share of rstream's own repetitions, above 0; 1.0 for all of them; 0.01 unless set. */
    public static final String STREAM_SCALE = "rdma.stream.scale";

    /** {@code standard} (4 sizes, unless set) or {@code all} (33 sizes). */
    public static final String STREAM_SIZES = "rdma.stream.sizes";

    /** How long a role waits for any one step, in seconds; 20 unless set. */
    public static final String STEP_TIMEOUT = "rdma.scenario.step-timeout";

    /** {@code true} to measure all pairs of the fabric's nodes; {@code false} unless set. */
    public static final String PAIRS = "rdma.pairs";

    /**
     * By which factor above the median of all pairs, with 2 to 4 nodes above their lower quartile, one is bad: above 1; 3 unless
     * set.
     */
    public static final String PAIRS_OUTLIER = "rdma.pairs.outlier";

    /** What is measured of each pair: {@code latency}, {@code bandwidth}, {@code rate}, separated by commas; all unless set. */
    public static final String PAIRS_MEASURE = "rdma.pairs.measure";

    /** Over how many queue pairs data flows between two nodes, 1 to 64; 2 unless set. */
    public static final String PAIRS_QPS = "rdma.pairs.qps";

    /** Bytes of the messages by which bandwidth is measured, 4,096 to 16,777,216; 65,536 unless set. */
    public static final String PAIRS_SIZE = "rdma.pairs.size";

    /** How long latency, bandwidth and rate of a pair are measured each, in seconds; 0.5 unless set. */
    public static final String PAIRS_TIME = "rdma.pairs.time";

    /** The file that gets a line for each pair as it is measured; none unless set. {@code ./qualify} sets it. */
    public static final String PAIRS_FILE = "rdma.pairs.file";

    /** {@code true} to capture and judge what passes between nodes; {@code false} unless set. */
    public static final String WIRE = "rdma.wire";

    static ScenarioSettings read(Function<String, Optional<String>> configuration) {
        return new ScenarioSettings(
                (int) number(configuration, PING_PONG_ITERATIONS, 200, 1, 100_000_000),
                number(configuration, STREAM_SCALE, 0.01, 1e-9, 1000),
                oneOf(configuration, STREAM_SIZES, "standard", "all").equals("all"),
                Duration.ofMillis(Math.round(1000 * number(configuration, STEP_TIMEOUT, 20, 0.001, 3600))),
                oneOf(configuration, PAIRS, "false", "true").equals("true"),
                number(configuration, PAIRS_OUTLIER, 3, 1.001, 1e6),
                measures(configuration.apply(PAIRS_MEASURE).orElse("latency,bandwidth,rate")),
                (int) number(configuration, PAIRS_QPS, 2, 1, 64),
                (int) number(configuration, PAIRS_SIZE, 65_536, 4096, 1 << 24),
                Duration.ofMillis(Math.round(1000 * number(configuration, PAIRS_TIME, 0.5, 0.001, 3600))),
                configuration.apply(PAIRS_FILE).orElse(""),
                oneOf(configuration, WIRE, "false", "true").equals("true"));
    }

    private static Set<PairsMeasure> measures(String text) {
        Set<PairsMeasure> measures = EnumSet.noneOf(PairsMeasure.class);
        for (String word : text.split(",", -1)) {
            try {
                measures.add(PairsMeasure.valueOf(word.strip().toUpperCase(Locale.ROOT)));
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException(
                        "%s=%s: '%s' is not one of latency, bandwidth, rate"
                                .formatted(PAIRS_MEASURE, text, word.strip()),
                        e);
            }
        }
        return measures;
    }

    /** Reads a word; the first one allowed is that of a key that is not set. */
    private static String oneOf(Function<String, Optional<String>> configuration, String key, String... allowed) {
        String word = configuration.apply(key).orElse(allowed[0]);
        if (!List.of(allowed).contains(word)) {
            throw new IllegalArgumentException("%s=%s: allowed are %s".formatted(key, word, List.of(allowed)));
        }
        return word;
    }

    private static double number(
            Function<String, Optional<String>> configuration, String key, double unset, double least, double most) {
        Optional<String> text = configuration.apply(key);
        if (text.isEmpty()) {
            return unset;
        }
        try {
            double value = Double.parseDouble(text.get().trim());
            if (value >= least && value <= most) {
                return value;
            }
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(key + "=" + text.get() + ": not a number", e);
        }
        throw new IllegalArgumentException("%s=%s: allowed are %s to %s".formatted(key, text.get(), least, most));
    }
}
