package io.rdmatest.report.culprits;

import io.rdmatest.Cause;
import io.rdmatest.report.culprits.PairLine.Outcome;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** All cells, in columns: a million of them takes about 50 MB. Of lines about the same cell, the last one counts. */
final class PairMatrix {

    /** The state of a cell. */
    static final byte NOT_MEASURED = 0;

    static final byte MEASURED = 1;
    static final byte FAILED = 2;

    /**
     * Counters that mean lost, late, repeated or damaged packets, or a link that went down. Counters of congestion, such as
     * marks, notifications and pauses, are no sign of a broken part and do not count.
     */
    private static final Pattern ERRORS =
            Pattern.compile("err(?!upt)|retrans|retry|retries|timeout|out_?of_?(seq|order)|out of (seq|order)|seq_|crc"
                    + "|discard|drop|lost|loss|nak|duplicate|link_?down|carrier|symbol|overrun|recover"
                    + "|corrupt|invalid");

    /** So many round trips have a median and a 99th percentile. */
    private static final int ENOUGH_SAMPLES = 100;

    private static final Pattern CONGESTION = Pattern.compile("cnp|ecn|pause|xmit_?wait|congest|slow_restart");

    /** The cells of one rail, in the order of their lines. */
    static final class Rail {

        final String name;

        /** The leaf of each node on this rail, by the node's number; -1 if it is not known. */
        int[] leaf = new int[0];

        /** Whether a node has this rail. */
        boolean[] there = new boolean[0];

        int count;
        int[] from = new int[64];
        int[] to = new int[64];
        byte[] state = new byte[64];
        float[] lineRate = new float[64];

        /** Bandwidth, message rate, median and 99th percentile of latency, errors; by {@link Metric}. */
        final float[][] values = new float[Metric.values().length][64];

        /** How much the latencies of each line count, 0 to 1. */
        float[] weight = new float[64];

        /** The reference that the caller gave for each line, to find it again. */
        long[] reference = new long[64];

        /** Why cells failed, or were judged as bad though they were measured, by their lines. */
        final Map<Integer, String> causes = new HashMap<>();

        Rail(String name) {
            this.name = name;
        }

        private void grow() {
            int size = from.length + (from.length >> 1);
            from = Arrays.copyOf(from, size);
            to = Arrays.copyOf(to, size);
            state = Arrays.copyOf(state, size);
            lineRate = Arrays.copyOf(lineRate, size);
            weight = Arrays.copyOf(weight, size);
            reference = Arrays.copyOf(reference, size);
            for (int i = 0; i < values.length; i++) {
                values[i] = Arrays.copyOf(values[i], size);
            }
        }

        private void join(int node, int itsLeaf) {
            if (node >= there.length) {
                int size = Math.max(node + 1, there.length + (there.length >> 1));
                int known = leaf.length;
                leaf = Arrays.copyOf(leaf, size);
                Arrays.fill(leaf, known, size, -1);
                there = Arrays.copyOf(there, size);
            }
            there[node] = true;
            if (itsLeaf >= 0) {
                leaf[node] = itsLeaf;
            }
        }

        boolean has(int node) {
            return node < there.length && there[node];
        }
    }

    private final Map<String, Integer> nodeNumbers = new HashMap<>();
    private final List<String> nodes = new ArrayList<>();
    private final Map<String, Integer> leafNumbers = new HashMap<>();
    private final List<String> leaves = new ArrayList<>();
    private final Map<String, Rail> rails = new LinkedHashMap<>();
    private final Map<String, Boolean> errors = new HashMap<>();
    private final Map<String, Boolean> hostsFault = new HashMap<>();

    /** Adds a cell with a reference, by which the caller finds its line again. */
    void add(PairLine cell, long reference) {
        Rail rail = rails.computeIfAbsent(cell.rail(), Rail::new);
        int from = number(cell.from(), nodeNumbers, nodes);
        int to = number(cell.to(), nodeNumbers, nodes);
        rail.join(from, number(cell.fromLeaf(), leafNumbers, leaves));
        rail.join(to, number(cell.toLeaf(), leafNumbers, leaves));
        if (rail.count == rail.from.length) {
            rail.grow();
        }
        int at = rail.count++;
        rail.from[at] = from;
        rail.to[at] = to;
        rail.reference[at] = reference;
        rail.state[at] = state(cell);
        rail.lineRate[at] = (float) cell.lineRate();
        rail.weight[at] = (float) weight(cell);
        rail.values[0][at] = (float) cell.bandwidth();
        rail.values[1][at] = (float) cell.messageRate();
        rail.values[2][at] = (float) cell.latencyP50();
        rail.values[3][at] = (float) cell.latencyP99();
        rail.values[4][at] = errors(cell.counters().from()) + errors(cell.counters().to());
        String cause = cell.cause();
        if (cause != null
                && (rail.state[at] == FAILED
                        || (rail.state[at] == MEASURED
                                && !hostsFault.computeIfAbsent(cause, PairMatrix::isHostsFault)))) {
            rail.causes.put(at, cause);
        }
    }

    /**
     * Returns how much the latencies of a line count: the median of few round trips scatters by more, with the inverse of the square
     * root of their number. {@value #ENOUGH_SAMPLES} and more count fully. So does an unknown number, which other tools leave out.
     */
    static double weight(PairLine cell) {
        return cell.samples() == 0 ? 1 : Math.min(1, Math.sqrt((double) cell.samples() / ENOUGH_SAMPLES));
    }

    private byte state(PairLine cell) {
        String cause = cell.cause();
        if (Cause.GIVEN_UP.name().equals(cause)) {
            // One failure after the other is evidence against the node, also for the pairs that it then was not tried
            // with.
            return FAILED;
        }
        if (cell.outcome() == Outcome.NOT_MEASURED
                || (cell.outcome() == Outcome.FAILED
                        && cause != null
                        && hostsFault.computeIfAbsent(cause, PairMatrix::isHostsFault))) {
            return NOT_MEASURED;
        }
        return cell.outcome() == Outcome.FAILED ? FAILED : MEASURED;
    }

    /**
     * Returns whether a cause is the host's fault. An unknown name, which comes from another tool, counts as the fabric's fault.
     */
    static boolean isHostsFault(String name) {
        for (Cause cause : Cause.values()) {
            if (cause.name().equals(name)) {
                return cause.verdict() != Cause.Verdict.FAILED;
            }
        }
        return false;
    }

    private static int number(@Nullable String name, Map<String, Integer> numbers, List<String> names) {
        if (name == null) {
            return -1;
        }
        Integer known = numbers.get(name);
        if (known == null) {
            known = names.size();
            numbers.put(name, known);
            names.add(name);
        }
        return known;
    }

    private float errors(Map<String, Long> counters) {
        float sum = 0;
        for (Map.Entry<String, Long> counter : counters.entrySet()) {
            if (counter.getValue() > 0 && errors.computeIfAbsent(counter.getKey(), PairMatrix::isError)) {
                sum += counter.getValue();
            }
        }
        return sum;
    }

    /** Returns how many errors the counters of both ports show. */
    static long errorsOf(PairLine cell) {
        return Stream.of(cell.counters().from(), cell.counters().to())
                .flatMap(counters -> counters.entrySet().stream())
                .filter(counter -> counter.getValue() > 0 && isError(counter.getKey()))
                .mapToLong(Map.Entry::getValue)
                .sum();
    }

    static boolean isError(String counter) {
        String name = counter.replaceAll("([a-z])([A-Z])", "$1_$2").toLowerCase(Locale.ROOT);
        return ERRORS.matcher(name).find() && !CONGESTION.matcher(name).find();
    }

    List<Rail> rails() {
        return List.copyOf(rails.values());
    }

    int nodeCount() {
        return nodes.size();
    }

    /** Returns the number of a node, or -1 if no cell has it. */
    int node(String name) {
        return nodeNumbers.getOrDefault(name, -1);
    }

    String node(int number) {
        return nodes.get(number);
    }

    String leaf(int number) {
        return leaves.get(number);
    }
}
