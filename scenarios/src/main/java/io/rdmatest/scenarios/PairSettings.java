package io.rdmatest.scenarios;

import io.rdmatest.Deadline;
import io.rdmatest.junit.Quantity;
import io.rdmatest.report.culprits.Metric;
import io.rdmatest.scenarios.pairs.PairRoles;
import io.rdmatest.scenarios.pairs.PairRoles.Operation;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What is measured of all pairs, and how.
 *
 * @param measure what is measured, {@value #MEASURE}; at least one
 * @param queuePairs how many queue pairs a stream has, {@value #QPS}; 0 for what suits the devices
 * @param size bytes of a message where the bandwidth is measured, {@value #SIZE}
 * @param time how long the bandwidth, and how long the message rate of a pair is measured, {@value #TIME}
 * @param operation how data is moved, {@value #OPERATION}
 * @param bothWays whether data flows in both directions at once, {@value #DIRECTIONS}
 * @param rounds how many rounds are measured, {@value #ROUNDS}; {@link Integer#MAX_VALUE} for all
 * @param budget how long rounds begin, counted from the beginning of all pairs, {@value #BUDGET}; null for no limit
 * @param file where the results go, pair by pair, {@value #FILE}; null for nowhere
 */
public record PairSettings(
        Set<Metric> measure,
        int queuePairs,
        int size,
        Duration time,
        Operation operation,
        boolean bothWays,
        int rounds,
        @Nullable Duration budget,
        @Nullable Path file) {

    /** {@code latency}, {@code bandwidth} and {@code rate}, separated by commas; all three unless set. */
    public static final String MEASURE = "rdma.pairs.measure";

    /** Queue pairs of a stream, 1 to 64; 2 unless set where one of both devices is software, else 4. */
    public static final String QPS = "rdma.pairs.qps";

    /** Bytes of a message where the bandwidth is measured, 1 to 16777216; 65536 unless set. */
    public static final String SIZE = "rdma.pairs.size";

    /** How long each stream of a pair is measured, 0.01 to 60 seconds; 0.5 unless set. */
    public static final String TIME = "rdma.pairs.time";

    /** {@code write}, unless set, {@code read} or {@code send}. */
    public static final String OPERATION = "rdma.pairs.operation";

    /** {@code one}, unless set, or {@code both}: data flows back at the same time. */
    public static final String DIRECTIONS = "rdma.pairs.directions";

    /** How many rounds of each rail are measured, {@value #LEAST_ROUNDS} or more; all unless set. */
    public static final String ROUNDS = "rdma.pairs.rounds";

    /** How long rounds begin, as {@code 30m}, over all rails; no limit unless set. */
    public static final String BUDGET = "rdma.pairs.budget";

    /** Fewer rounds name nodes that are well, so that a rail with as many always has these. */
    static final int LEAST_ROUNDS = 16;

    private static final int MOST_ROUNDS = 1_000_000;

    /** The file that has a line of JSON for each pair; none unless set. {@code ./qualify} sets it. */
    public static final String FILE = "rdma.pairs.file";

    /** What a round may take beside its streams. */
    private static final Duration ROUND = Duration.ofSeconds(5);

    /** How much longer than it measures a stream may take. */
    private static final int PATIENCE = 2;

    private static final String ALL = "latency,bandwidth,rate";

    /**
     * Reads the settings.
     *
     * @param configuration returns the value of a key, if it is set
     * @throws IllegalArgumentException if a value can't be read or is out of its range; names the key
     */
    public static PairSettings read(Function<String, Optional<String>> configuration) {
        return new PairSettings(
                measure(configuration.apply(MEASURE).orElse(ALL)),
                configuration.apply(QPS).isEmpty() ? 0 : whole(configuration, QPS, 0, 1, PairRoles.MOST_QUEUE_PAIRS),
                whole(configuration, SIZE, 1 << 16, 1, PairRoles.LARGEST),
                Duration.ofMillis(Math.round(1000 * ScenarioSettings.number(configuration, TIME, 0.5, 0.01, 60))),
                Operation.valueOf(ScenarioSettings.oneOf(configuration, OPERATION, "write", "read", "send")
                        .toUpperCase(Locale.ROOT)),
                ScenarioSettings.oneOf(configuration, DIRECTIONS, "one", "both").equals("both"),
                configuration.apply(ROUNDS).isEmpty()
                        ? Integer.MAX_VALUE
                        : whole(configuration, ROUNDS, 0, LEAST_ROUNDS, MOST_ROUNDS),
                configuration.apply(BUDGET).map(PairSettings::budget).orElse(null),
                configuration.apply(FILE).map(Path::of).orElse(null));
    }

    private static Set<Metric> measure(String names) {
        try {
            return Metric.parse(names);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(MEASURE + "=" + names + ": " + e.getMessage(), e);
        }
    }

    private static int whole(
            Function<String, Optional<String>> configuration, String key, int unset, int least, int most) {
        double value = ScenarioSettings.number(configuration, key, unset, least, most);
        if (value != Math.rint(value)) {
            throw new IllegalArgumentException("%s=%s: not a whole number".formatted(key, value));
        }
        return (int) value;
    }

    private static Duration budget(String text) {
        try {
            return Quantity.duration(text);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(BUDGET + "=" + text + ": " + e.getMessage(), e);
        }
    }

    /**
     * Returns why a round and all later ones are left out.
     *
     * @param round its number, from 0
     * @param end the end of the budget for its rail, on the scale of {@link System#nanoTime}
     * @return the option that leaves them out; null if the round is measured
     */
    @Nullable
    String leavesOut(int round, long end) {
        if (round < LEAST_ROUNDS) {
            return null;
        }
        if (round >= rounds) {
            return "--pairs-rounds " + rounds;
        }
        return budget != null && Deadline.isOver(end)
                ? "--budget " + budget.toString().substring(2).toLowerCase(Locale.ROOT)
                : null;
    }

    /** Returns how long all streams of a pair are measured together. */
    Duration streams() {
        return time.multipliedBy(measure.stream().filter(Metric::isRate).count());
    }

    /** Returns what a round of pairs may take on average: several times what it takes on a good fabric. */
    public Duration limitOfRound() {
        return ROUND.plus(streams().multipliedBy(PATIENCE));
    }
}
