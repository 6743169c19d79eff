package io.rdmatest.report.culprits;

import io.rdmatest.Cause;
import io.rdmatest.report.culprits.Candidate.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * The cells of one rail as a matrix: a row for each sender, a column for each receiver. A cell's number is the sender's number
 * times {@link #size}, plus the receiver's number. Each metric is a logarithm that grows as the cell gets better: of the share of
 * the line rate, of the message rate, of the inverse of a latency, or of the inverse of one plus the errors that both ports
 * counted.
 */
final class RailCells {

    final PairMatrix.Rail rail;

    /** The number of ports. */
    final int size;

    /** The leaf of each port, or -1. */
    final int[] leaf;

    final int leaves;
    final int[][] leafMembers;

    /** Logarithms, as they were measured, by metric and cell; NaN where there is none. */
    final float[][] raw = new float[Metric.ALL.length][];

    /** The number of found causes that explain each cell. */
    final short[] covers;

    /** Whether any cell has each metric. */
    final boolean[] has = new boolean[Metric.ALL.length];

    /** How many cells were measured or failed. */
    final int known;

    /** The line of each cell; -1 if the cell has no line, or was not measured. */
    private final int[] index;

    private final int[] nodes;
    private final int[] leafNumbers;
    private final int[] everyone;
    private final int[] failedOfRow;
    private final int[] failedOfColumn;
    private final int[] failedOfBlock;
    private final boolean byShare;

    /** The amount that is subtracted from the logarithms of a metric, by line rate. */
    private final Map<Metric, Map<Float, Float>> forgiven = new EnumMap<>(Metric.class);

    private int failures;
    private int aboveLineRate;

    RailCells(PairMatrix.Rail rail, int nodeCount) {
        this.rail = rail;
        int[] numbers = new int[nodeCount];
        int ports = 0;
        int[] global = new int[nodeCount];
        for (int node = 0; node < nodeCount; node++) {
            numbers[node] = -1;
            if (rail.has(node)) {
                global[ports] = node;
                numbers[node] = ports++;
            }
        }
        size = ports;
        nodes = Arrays.copyOf(global, ports);
        everyone = IntStream.range(0, ports).toArray();
        leaf = new int[ports];
        Map<Integer, Integer> numbersOfLeaves = new TreeMap<>();
        for (int port = 0; port < ports; port++) {
            int itsLeaf = rail.leaf[nodes[port]];
            leaf[port] = itsLeaf < 0 ? -1 : numbersOfLeaves.computeIfAbsent(itsLeaf, l -> numbersOfLeaves.size());
        }
        leaves = numbersOfLeaves.size();
        leafNumbers = new int[leaves];
        numbersOfLeaves.forEach((name, number) -> leafNumbers[number] = name);
        leafMembers = new int[leaves][];
        for (int l = 0; l < leaves; l++) {
            int[] members = new int[ports];
            int count = 0;
            for (int port = 0; port < ports; port++) {
                if (leaf[port] == l) {
                    members[count++] = port;
                }
            }
            leafMembers[l] = Arrays.copyOf(members, count);
        }
        index = new int[size * size];
        Arrays.fill(index, -1);
        boolean shares = true;
        for (int at = 0; at < rail.count; at++) {
            int cell = numbers[rail.from[at]] * size + numbers[rail.to[at]];
            index[cell] = rail.state[at] == PairMatrix.NOT_MEASURED ? -1 : at;
        }
        int count = 0;
        for (int at : index) {
            if (at >= 0) {
                count++;
                shares &= rail.state[at] == PairMatrix.FAILED
                        || !Float.isNaN(rail.lineRate[at])
                        || Float.isNaN(rail.values[0][at]);
            }
        }
        known = count;
        byShare = shares;
        covers = new short[size * size];
        failedOfRow = new int[size];
        failedOfColumn = new int[size];
        failedOfBlock = new int[leaves * leaves];
        load();
    }

    private void load() {
        for (int m = 0; m < Metric.ALL.length; m++) {
            raw[m] = new float[size * size];
            Arrays.fill(raw[m], Float.NaN);
        }
        for (int cell = 0; cell < index.length; cell++) {
            int at = index[cell];
            if (at < 0) {
                continue;
            }
            if (rail.state[at] == PairMatrix.FAILED) {
                failures++;
                failedOfRow[cell / size]++;
                failedOfColumn[cell % size]++;
                if (leaf[cell / size] >= 0 && leaf[cell % size] >= 0) {
                    failedOfBlock[leaf[cell / size] * leaves + leaf[cell % size]]++;
                }
                continue;
            }
            double bandwidth = rail.values[0][at];
            double lineRate = rail.lineRate[at];
            if (bandwidth > lineRate) {
                aboveLineRate++;
            }
            for (int m = 0; m < Metric.ALL.length; m++) {
                raw[m][cell] = logarithm(Metric.ALL[m], rail.values[m][at], lineRate);
                has[m] |= !Float.isNaN(raw[m][cell]);
            }
        }
        forgiveCountedErrors();
        forgiveSlowPorts();
    }

    /**
     * Counts no errors of cells that the tool that measured them found good, if it judges errors: it named them as the cause of
     * another cell. On soft-RoCE a host that was late leaves some without a loss.
     */
    private void forgiveCountedErrors() {
        if (Arrays.stream(index)
                .noneMatch(at -> at >= 0 && Cause.COUNTERS.name().equals(rail.causeOfBad(at)))) {
            return;
        }
        float[] values = raw[Metric.COUNTERS.ordinal()];
        for (int cell = 0; cell < index.length; cell++) {
            if (values[cell] < 0 && rail.causeOfBad(index[cell]) == null) {
                values[cell] = 0;
            }
        }
    }

    /** Returns the logarithm of a value, which grows as the cell gets better; NaN if there is none. */
    private float logarithm(Metric metric, double value, double lineRate) {
        return switch (metric) {
            case BANDWIDTH -> logarithm(byShare ? value / lineRate : value / 1e9);
            case MESSAGE_RATE -> logarithm(value);
            case LATENCY_P50, LATENCY_P99 -> -timeLogarithm(value);
            case COUNTERS -> value == 0 ? 0 : (float) -Math.log1p(value);
        };
    }

    /** Returns the logarithm of a line outside of the matrix, as {@link #raw} would have it. */
    float logarithm(Metric metric, PairLine line) {
        float value = logarithm(metric, metric.of(line), line.lineRate());
        return value - forgiven.getOrDefault(metric, Map.of()).getOrDefault((float) line.lineRate(), 0f);
    }

    /** Returns a logarithm. A value of 0 means that no data flowed: the result is then very low, but still a number. */
    private static float logarithm(double value) {
        return value == 0 ? -30 : (float) Math.log(value);
    }

    private static float timeLogarithm(double seconds) {
        return seconds == 0 ? Float.NaN : (float) Math.log(seconds);
    }

    /**
     * Corrects for ports that are slower by design. A port with a lower line rate may have a lower message rate, at most in
     * proportion to the line rate, and latencies that are up to half higher. The difference between the good cells of its class
     * and those of the fastest class is subtracted.
     */
    private void forgiveSlowPorts() {
        Map<Float, Integer> rates = new TreeMap<>();
        for (int at : index) {
            if (at >= 0 && !Float.isNaN(rail.lineRate[at])) {
                rates.merge(rail.lineRate[at], 1, Integer::sum);
            }
        }
        if (rates.size() < 2 || rates.size() > 8) {
            return;
        }
        int all = rates.values().stream().mapToInt(Integer::intValue).sum();
        float fast = rates.keySet().stream()
                .filter(rate -> rates.get(rate) >= Math.max(4, all / 50))
                .max(Comparator.naturalOrder())
                .orElse(0f);
        for (Metric metric : List.of(Metric.MESSAGE_RATE, Metric.LATENCY_P50, Metric.LATENCY_P99)) {
            float[] values = raw[metric.ordinal()];
            double goodOfFast = goodOfRate(values, fast);
            for (float rate : rates.keySet()) {
                double difference = goodOfRate(values, rate) - goodOfFast;
                double most = metric == Metric.MESSAGE_RATE ? rate / fast : Math.max(rate / fast, 1 / 1.5);
                double off = Math.max(difference, Math.log(most));
                if (rate < fast && off < 0) {
                    forgiven.computeIfAbsent(metric, ignored -> new TreeMap<>()).put(rate, (float) off);
                    for (int cell = 0; cell < index.length; cell++) {
                        if (index[cell] >= 0 && rail.lineRate[index[cell]] == rate) {
                            values[cell] -= (float) off;
                        }
                    }
                }
            }
        }
    }

    private double goodOfRate(float[] values, float rate) {
        double[] some = new double[index.length];
        int count = 0;
        for (int cell = 0; cell < index.length; cell++) {
            if (index[cell] >= 0 && rail.lineRate[index[cell]] == rate && !Float.isNaN(values[cell])) {
                some[count++] = values[cell];
            }
        }
        return Quantiles.of(some, count, 0.75);
    }

    /** Returns the number of places for cells. */
    int count() {
        return index.length;
    }

    /** Returns the number of the cell's line on the rail. */
    int line(int cell) {
        return index[cell];
    }

    /** Returns how much a value of a known cell counts, 0 to 1. */
    float weight(Metric metric, int cell) {
        return metric.isLatency() ? rail.weight(index[cell]) : 1;
    }

    boolean isFailed(int cell) {
        return index[cell] >= 0 && rail.state[index[cell]] == PairMatrix.FAILED;
    }

    /** Returns whether a cell failed, or the tool that measured it judged it as bad. */
    boolean isJudgedBad(int cell) {
        return index[cell] >= 0 && (isFailed(cell) || rail.causeOfBad(index[cell]) != null);
    }

    boolean isKnown(int cell) {
        return index[cell] >= 0;
    }

    boolean withinLeaf(int cell) {
        int from = leaf[cell / size];
        return from >= 0 && from == leaf[cell % size];
    }

    /**
     * Returns whether all cells failed, so that no good cell shows which causes are bad. With two nodes this is false, because
     * each cell stands for itself.
     */
    boolean isAllFailed() {
        return size > 2 && failures == known;
    }

    int aboveLineRate() {
        return aboveLineRate;
    }

    /** Returns the node of a port, by its number in the matrix. */
    int node(int port) {
        return nodes[port];
    }

    /** Returns the number of a node's port, or -1. */
    int port(int node) {
        return Math.max(-1, Arrays.binarySearch(nodes, node));
    }

    /** Returns the leaf's number in the matrix. */
    int leafNumber(int ownNumber) {
        return leafNumbers[ownNumber];
    }

    // ---- candidates ----

    List<Candidate> candidates() {
        List<Candidate> all = new ArrayList<>();
        for (Shape shape : Shape.values()) {
            all.addAll(candidates(shape));
        }
        return all;
    }

    List<Candidate> candidates(Shape shape) {
        List<Candidate> all = new ArrayList<>();
        if (shape == Shape.BLOCK) {
            // If all nodes have the same leaf, the only block is the whole matrix, and there is nothing to compare it
            // with.
            for (int a = 0; leaves > 1 && a < leaves; a++) {
                for (int b = 0; b < leaves; b++) {
                    all.add(new Candidate(shape, a, b));
                }
            }
        } else {
            for (int port = 0; size > 2 && port < size; port++) {
                all.add(new Candidate(shape, port, 0));
            }
        }
        return all;
    }

    int[] senders(Candidate line) {
        return switch (line.shape()) {
            case ROW -> new int[] {line.a()};
            case COLUMN -> everyone;
            case BLOCK -> leafMembers[line.a()];
        };
    }

    int[] receivers(Candidate line) {
        return switch (line.shape()) {
            case ROW -> everyone;
            case COLUMN -> new int[] {line.a()};
            case BLOCK -> leafMembers[line.b()];
        };
    }

    int[] cellsOf(Candidate line) {
        int[] senders = senders(line);
        int[] receivers = receivers(line);
        int[] all = new int[senders.length * receivers.length];
        int count = 0;
        for (int a : senders) {
            for (int b : receivers) {
                if (a != b && isKnown(a * size + b)) {
                    all[count++] = a * size + b;
                }
            }
        }
        return Arrays.copyOf(all, count);
    }

    int failedOf(Candidate line) {
        return switch (line.shape()) {
            case ROW -> failedOfRow[line.a()];
            case COLUMN -> failedOfColumn[line.a()];
            case BLOCK -> failedOfBlock[line.a() * leaves + line.b()];
        };
    }

    /** Tells whether a cell has a value that nothing explains yet. */
    boolean usable(float[] values, int cell) {
        return covers[cell] == 0 && !Float.isNaN(values[cell]);
    }

    void cover(Candidate line, int by) {
        for (int cell : cellsOf(line)) {
            covers[cell] += (short) by;
        }
    }
}
