package io.rdmatest.report.culprits;

import io.rdmatest.Cause;
import io.rdmatest.report.culprits.PairLine.Outcome;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.ObjIntConsumer;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * All cells of a run, in columns: a million of them takes about 60 MB. They are read once, and the causes, the page, the tables and
 * the comparison with other nights are made of them. Of lines about the same cell, the last one counts.
 */
public final class PairMatrix {

    /** Finds the line that a cell came from. */
    @FunctionalInterface
    interface Source {
        PairLine line(long reference) throws IOException;
    }

    /** The number of bits of a reference that hold the position in the file. */
    private static final int POSITION_BITS = 48;

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

    private static final Set<String> HOSTS_FAULTS = Arrays.stream(Cause.values())
            .filter(cause -> cause.verdict() != Cause.Verdict.FAILED)
            .map(Cause::name)
            .collect(Collectors.toUnmodifiableSet());

    private static final Pattern CONGESTION = Pattern.compile("cnp|ecn|pause|xmit_?wait|congest|slow_restart");

    /** The cells of one rail, in the order of their lines. */
    public static final class Rail {

        final String name;

        /** The leaf of each node on this rail, by the node's number; -1 if it is not known. */
        int[] leaf = new int[0];

        /** Whether a node has this rail. */
        boolean[] there = new boolean[0];

        int count;
        int[] from = new int[64];
        int[] to = new int[64];
        byte[] state = new byte[64];
        private Outcome[] outcome = new Outcome[64];
        private @Nullable String[] cause = new String[64];
        float[] lineRate = new float[64];

        /** Bandwidth, message rate, median and 99th percentile of latency, errors; by {@link Metric}. */
        final float[][] values = new float[Metric.values().length][64];

        /** From how many samples the latencies of each line are. */
        private int[] samples = new int[64];

        /** The reference that the caller gave for each line, to find it again. */
        long[] reference = new long[64];

        Rail(String name) {
            this.name = name;
        }

        private void grow() {
            int size = from.length + (from.length >> 1);
            from = Arrays.copyOf(from, size);
            to = Arrays.copyOf(to, size);
            state = Arrays.copyOf(state, size);
            lineRate = Arrays.copyOf(lineRate, size);
            samples = Arrays.copyOf(samples, size);
            outcome = Arrays.copyOf(outcome, size);
            cause = Arrays.copyOf(cause, size);
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

        /** Returns whether a node, by its number, has a port on this rail. */
        public boolean has(int node) {
            return node >= 0 && node < there.length && there[node];
        }

        /** Returns the name. */
        public String name() {
            return name;
        }

        /** Returns the number of lines. */
        public int count() {
            return count;
        }

        /** Returns the number of the node that sends, of a line. */
        public int from(int line) {
            return from[line];
        }

        /** Returns the number of the node that receives. */
        public int to(int line) {
            return to[line];
        }

        /** Returns how far a line got, as it says itself. */
        public Outcome outcome(int line) {
            return outcome[line];
        }

        /** Returns the cause that a line gives; null if there is none. */
        public @Nullable String cause(int line) {
            return cause[line];
        }

        /** Returns the rate of the slower port in bit/s; NaN if it is not known. */
        public float lineRate(int line) {
            return lineRate[line];
        }

        /** Returns the value of a metric, in SI units; NaN if there is none. */
        public float value(Metric metric, int line) {
            return values[metric.ordinal()][line];
        }

        /** Returns from how many samples the latencies are. */
        public int samples(int line) {
            return samples[line];
        }

        /** Returns how much the latencies of a line count, 0 to 1. */
        float weight(int line) {
            return (float) PairMatrix.weight(samples[line]);
        }

        /** Returns why a line is bad: it failed, or it was measured and judged. Null if it is not, or gives no cause. */
        @Nullable
        String causeOfBad(int line) {
            return state[line] == FAILED || (state[line] == MEASURED && !isHostsFault(cause[line]))
                    ? cause[line]
                    : null;
        }
    }

    private final Map<String, Integer> nodeNumbers = new HashMap<>();
    private final List<String> nodes = new ArrayList<>();
    private final Map<String, Integer> leafNumbers = new HashMap<>();
    private final List<String> leaves = new ArrayList<>();
    private final Map<String, Rail> rails = new LinkedHashMap<>();
    private final Map<String, Boolean> errors = new HashMap<>();
    private final Map<String, String> causes = new HashMap<>();
    private final List<PairLine> confirmations = new ArrayList<>();
    private final List<String> notes = new ArrayList<>();
    private final Source source;

    PairMatrix(Source source) {
        this.source = source;
    }

    /**
     * Reads the cells of files, as {@link #read(List, ObjIntConsumer)} does.
     *
     * @throws IOException as there
     */
    public static PairMatrix read(List<Path> files) throws IOException {
        return read(files, (cell, line) -> {});
    }

    /**
     * Reads the cells of files.
     *
     * @param files each a {@code pairs.jsonl}, in the order in which they were measured; if several lines have the same rail,
     *     sender and receiver, the last one counts. If a file has cells of a rail, confirmations of earlier files on that rail no
     *     longer count
     * @param also takes each cell, with its number among the lines of its rail
     * @throws IOException if a file can't be read, or a line of it is no cell; the message names file and line
     */
    public static PairMatrix read(List<Path> files, ObjIntConsumer<PairLine> also) throws IOException {
        PairMatrix matrix = new PairMatrix(reference -> PairsReader.at(
                files.get((int) (reference >>> POSITION_BITS)), reference & ((1L << POSITION_BITS) - 1)));
        PairsReader reader = new PairsReader();
        for (int i = 0; i < files.size(); i++) {
            long file = (long) i << POSITION_BITS;
            reader.read(files.get(i), (cell, position) -> also.accept(cell, matrix.add(cell, file | position)));
        }
        matrix.confirmations.addAll(reader.confirmations());
        matrix.notes.addAll(reader.notes());
        return matrix;
    }

    /** Returns the lines that measured causes again. */
    List<PairLine> confirmations() {
        return List.copyOf(confirmations);
    }

    /** Returns notes about the files that were read, as sentences. */
    List<String> notes() {
        return List.copyOf(notes);
    }

    /** Returns the line of a reference. */
    PairLine line(long reference) throws IOException {
        return source.line(reference);
    }

    /**
     * Adds a line.
     *
     * @param cell the line; one that measured a cause again is no cell of the matrix
     * @param reference by which {@link Source} finds it again
     * @return its number among the lines of its rail; -1 if it is no cell
     */
    int add(PairLine cell, long reference) {
        if (cell.confirmation()) {
            confirmations.add(cell);
            return -1;
        }
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
        rail.outcome[at] = cell.outcome();
        rail.cause[at] = cell.cause() == null ? null : causes.computeIfAbsent(cell.cause(), name -> name);
        rail.samples[at] = (int) Math.min(cell.samples(), Integer.MAX_VALUE);
        rail.values[0][at] = (float) cell.bandwidth();
        rail.values[1][at] = (float) cell.messageRate();
        rail.values[2][at] = (float) cell.latencyP50();
        rail.values[3][at] = (float) cell.latencyP99();
        rail.values[4][at] =
                errors(cell.counters().from()) + errors(cell.counters().to());
        return at;
    }

    /**
     * Returns how much the latencies of a line count: the median of few round trips scatters by more, with the inverse of the square
     * root of their number. {@value #ENOUGH_SAMPLES} and more count fully. So does an unknown number, which other tools leave out.
     */
    static double weight(long samples) {
        return samples == 0 || samples >= ENOUGH_SAMPLES ? 1 : Math.sqrt((double) samples / ENOUGH_SAMPLES);
    }

    private static byte state(PairLine cell) {
        String cause = cell.cause();
        if (Cause.GIVEN_UP.name().equals(cause)) {
            // One failure after the other is evidence against the node, also for the pairs that it then was not tried
            // with.
            return FAILED;
        }
        if (cell.outcome() == Outcome.NOT_MEASURED || (cell.outcome() == Outcome.FAILED && isHostsFault(cause))) {
            return NOT_MEASURED;
        }
        return cell.outcome() == Outcome.FAILED ? FAILED : MEASURED;
    }

    /**
     * Returns whether a cause is the host's fault. An unknown name, which comes from another tool, counts as the fabric's fault.
     */
    static boolean isHostsFault(@Nullable String name) {
        return HOSTS_FAULTS.contains(String.valueOf(name));
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

    /** Returns the rails, in the order of their first lines. */
    public List<Rail> rails() {
        return List.copyOf(rails.values());
    }

    /** Returns the number of nodes of all rails. */
    public int nodeCount() {
        return nodes.size();
    }

    /** Returns the number of a node, or -1 if no cell has it. */
    public int node(String name) {
        return nodeNumbers.getOrDefault(name, -1);
    }

    /** Returns the name of a node. */
    public String node(int number) {
        return nodes.get(number);
    }

    /** Returns the leaf switch of a node's port; null if it is not known. */
    public @Nullable String leaf(Rail rail, int node) {
        return rail.leaf[node] < 0 ? null : leaves.get(rail.leaf[node]);
    }

    String leaf(int number) {
        return leaves.get(number);
    }
}
