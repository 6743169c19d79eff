package io.rdmatest.report.page;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The cells of one rail as a square: a row for each sender, a column for each receiver. */
final class RailMatrix {

    /** The size of the groups in which nodes without a known leaf are shown. */
    static final int GROUP = 32;

    /** A row or column of a block is used for its node only if it has this many values. */
    private static final int FEWEST_OF_LINE = 3;

    /**
     * Nodes beside each other that are shown as one at first: those of a leaf.
     *
     * @param name of the leaf, or the first and the last node
     * @param begin the first node
     * @param end the node after the last one
     */
    record Group(String name, int begin, int end) {}

    /**
     * The cells from one group to another.
     *
     * @param measured how many cells have values
     * @param failed how many failed
     * @param notMeasured how many were not measured
     * @param median the median of each metric, NaN where there is none
     * @param worst the median of the worst row or column in it, of each metric
     * @param worstNode the node of that row or column; -1 if there is none
     */
    record Block(int measured, int failed, int notMeasured, double[] median, double[] worst, int[] worstNode) {}

    final String rail;
    final List<String> nodes;
    final List<@Nullable String> leaves;
    final List<String> causes;
    final byte[] state;
    final byte[] bad;
    final float[] lineRate;
    final float[][] values;

    /** Further text about a cell. */
    final Map<Integer, String> details = new TreeMap<>();

    RailMatrix(String rail, List<String> nodes, List<@Nullable String> leaves, List<String> causes) {
        this.rail = rail;
        this.nodes = nodes;
        this.leaves = leaves;
        this.causes = causes;
        int cells = Math.multiplyExact(nodes.size(), nodes.size());
        state = new byte[cells];
        bad = new byte[cells];
        lineRate = new float[cells];
        values = new float[Metric.values().length][cells];
        Arrays.fill(lineRate, Float.NaN);
        for (float[] each : values) {
            Arrays.fill(each, Float.NaN);
        }
    }

    int size() {
        return nodes.size();
    }

    /** Returns the number of cells in a state. Failed cells count whatever their cause. */
    int count(byte which) {
        return count(0, size(), 0, size(), which);
    }

    private int count(int row, int rowEnd, int column, int columnEnd, byte which) {
        int found = 0;
        for (int r = row; r < rowEnd; r++) {
            for (int c = column; c < columnEnd; c++) {
                byte is = state[r * size() + c];
                if (which == RailCells.FAILED ? is >= RailCells.FAILED : is == which) {
                    found++;
                }
            }
        }
        return found;
    }

    /** Returns why a cell failed, or is bad although it was measured; null if it is neither. */
    @Nullable
    String causeOfBad(int from, int to) {
        int cell = from * size() + to;
        int number = state[cell] >= RailCells.FAILED ? state[cell] - RailCells.FAILED : bad[cell] - 1;
        return number < 0 ? null : number == 0 ? "failed" : causes.get(number - 1);
    }

    /** Returns how many cells from a node are in a state. */
    int countFrom(int node, byte which) {
        return count(node, node + 1, 0, size(), which);
    }

    /** Returns how many cells into a node are in a state. */
    int countInto(int node, byte which) {
        return count(0, size(), node, node + 1, which);
    }

    /** Returns the median of a metric over the cells that were measured; NaN if there is none. */
    double median(Metric metric) {
        return median(metric, 0, size(), 0, size());
    }

    /** Returns the median over what a node sent. */
    double rowMedian(Metric metric, int node) {
        return median(metric, node, node + 1, 0, size());
    }

    /** Returns the median over what a node received. */
    double columnMedian(Metric metric, int node) {
        return median(metric, 0, size(), node, node + 1);
    }

    private double median(Metric metric, int row, int rowEnd, int column, int columnEnd) {
        return Medians.sorting(measured(metric, row, rowEnd, column, columnEnd));
    }

    /** Returns the values of measured cells. Failed cells may have values, too, but those are not reliable. */
    private float[] measured(Metric metric, int row, int rowEnd, int column, int columnEnd) {
        float[] found = new float[(rowEnd - row) * (columnEnd - column)];
        int count = 0;
        for (int r = row; r < rowEnd; r++) {
            for (int c = column; c < columnEnd; c++) {
                int cell = r * size() + c;
                if (state[cell] == RailCells.MEASURED && !Float.isNaN(values[metric.ordinal()][cell])) {
                    found[count++] = values[metric.ordinal()][cell];
                }
            }
        }
        return Arrays.copyOf(found, count);
    }

    /** Returns the median line rate; NaN if it is not known. */
    double medianLineRate() {
        return Medians.sorting(lineRate.clone());
    }

    /** Returns the groups of nodes, in their order. */
    List<Group> groups() {
        List<Group> groups = new ArrayList<>();
        int begin = 0;
        while (begin < size()) {
            String leaf = leaves.get(begin);
            int end = begin + 1;
            while (end < size() && Objects.equals(leaf, leaves.get(end)) && (leaf != null || end - begin < GROUP)) {
                end++;
            }
            groups.add(new Group(leaf == null ? nodes.get(begin) + " … " + nodes.get(end - 1) : leaf, begin, end));
            begin = end;
        }
        return groups;
    }

    /** Sums up the cells from one group to another. */
    Block block(Group from, Group to) {
        int metrics = Metric.values().length;
        double[] median = new double[metrics];
        double[] worst = new double[metrics];
        int[] worstNode = new int[metrics];
        for (Metric metric : Metric.values()) {
            int at = metric.ordinal();
            median[at] = median(metric, from.begin, from.end, to.begin, to.end);
            worst[at] = median[at];
            worstNode[at] = -1;
            for (int row = from.begin; row < from.end; row++) {
                worse(metric, row, measured(metric, row, row + 1, to.begin, to.end), worst, worstNode);
            }
            for (int column = to.begin; column < to.end; column++) {
                worse(metric, column, measured(metric, from.begin, from.end, column, column + 1), worst, worstNode);
            }
        }
        return new Block(
                count(from.begin, from.end, to.begin, to.end, RailCells.MEASURED),
                count(from.begin, from.end, to.begin, to.end, RailCells.FAILED),
                count(from.begin, from.end, to.begin, to.end, RailCells.NOT_MEASURED),
                median,
                worst,
                worstNode);
    }

    private static void worse(Metric metric, int node, float[] line, double[] worst, int[] worstNode) {
        if (line.length >= FEWEST_OF_LINE) {
            double median = Medians.sorting(line);
            if (metric.isHigherBetter() ? median < worst[metric.ordinal()] : median > worst[metric.ordinal()]) {
                worst[metric.ordinal()] = median;
                worstNode[metric.ordinal()] = node;
            }
        }
    }

    /** Returns how a node does on this rail. */
    NodeRow node(int node, double[] medians) {
        Metric[] metrics = Metric.values();
        double[] out = new double[metrics.length];
        double[] in = new double[metrics.length];
        double score = 0;
        for (Metric metric : metrics) {
            int at = metric.ordinal();
            out[at] = rowMedian(metric, node);
            in[at] = columnMedian(metric, node);
            score = Math.max(score, Math.max(metric.worse(out[at], medians[at]), metric.worse(in[at], medians[at])));
        }
        int failedOut = countFrom(node, RailCells.FAILED);
        int failedIn = countInto(node, RailCells.FAILED);
        int triedOut = failedOut + countFrom(node, RailCells.MEASURED);
        int triedIn = failedIn + countInto(node, RailCells.MEASURED);
        // A failed cell counts more than any slow cell.
        score += 20.0 * Math.max(share(failedOut, triedOut), share(failedIn, triedIn));
        return new NodeRow(
                nodes.get(node), leaves.get(node), rail, out, in, failedOut, triedOut, failedIn, triedIn, score);
    }

    private static double share(int part, int of) {
        return of == 0 ? 0 : (double) part / of;
    }
}
