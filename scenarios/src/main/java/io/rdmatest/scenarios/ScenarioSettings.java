package io.rdmatest.scenarios;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
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
 * @param pairs what is measured of them, and how
 * @param wire whether what passes between nodes is captured and judged, {@value #WIRE}
 */
public record ScenarioSettings(
        int pingPongIterations,
        double streamScale,
        boolean allStreamSizes,
        Duration stepTimeout,
        boolean allPairs,
        double pairsOutlier,
        PairSettings pairs,
        boolean wire) {

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
                PairSettings.read(configuration),
                oneOf(configuration, WIRE, "false", "true").equals("true"));
    }

    /** Reads a word; the first one allowed is that of a key that is not set. */
    static String oneOf(Function<String, Optional<String>> configuration, String key, String... allowed) {
        String word = configuration.apply(key).orElse(allowed[0]);
        if (!List.of(allowed).contains(word)) {
            throw new IllegalArgumentException("%s=%s: allowed are %s".formatted(key, word, List.of(allowed)));
        }
        return word;
    }

    static double number(
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
