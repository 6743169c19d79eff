package io.rdmatest.report.page;

import io.rdmatest.report.culprits.Metric;
import io.rdmatest.report.culprits.PairLine.Outcome;
import io.rdmatest.report.culprits.PairMatrix;
import io.rdmatest.report.culprits.Quantiles;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** The cells of one rail as a square: a row for each sender, a column for each receiver. */
final class RailMatrix {

    /** The state of a cell that nobody tried. */
    static final byte NONE = 0;

    static final byte MEASURED = 1;
    static final byte NOT_MEASURED = 2;

    /** The state of a failed cell without a cause. With a cause, the state is this plus the number of the cause, from 1. */
    static final byte FAILED = 3;

    private static final int MOST_CAUSES = 100;

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

    /** The number of the cause of a bad measured cell, plus 1; 0 for other cells. */
    final byte[] bad;

    final float[] lineRate;
    final float[][] values;

    /** Further text about a cell. */
    final Map<Integer, String> details = new TreeMap<>();

    private RailMatrix(String rail, List<String> nodes, List<@Nullable String> leaves, List<String> causes) {
        this.rail = rail;
        this.nodes = nodes;
        this.leaves = leaves;
        this.causes = causes;
        int cells = Math.multiplyExact(nodes.size(), nodes.size());
        state = new byte[cells];
        bad = new byte[cells];
        lineRate = new float[cells];
        values = new float[Metric.ofCells().size()][cells];
        Arrays.fill(lineRate, Float.NaN);
        for (float[] each : values) {
            Arrays.fill(each, Float.NaN);
        }
    }

    /**
     * Returns the cells of a rail as a square, with the nodes sorted by leaf and name.
     *
     * @param pairs all cells
     * @param cells those of the rail
     * @param details what else there is to say about a line, in words, by its number
     */
    static RailMatrix of(PairMatrix pairs, PairMatrix.Rail cells, Map<Integer, String> details) {
        // Nodes whose leaf is not known come last.
        List<Integer> order = IntStream.range(0, pairs.nodeCount())
                .filter(cells::has)
                .boxed()
                .sorted(Comparator.comparing(
                                (Integer node) -> pairs.leaf(cells, node), Comparator.nullsLast(NaturalOrder.NAMES))
                        .thenComparing(pairs::node, NaturalOrder.NAMES))
                .toList();
        int size = order.size();
        int[] place = new int[pairs.nodeCount()];
        List<@Nullable String> leaves = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            place[order.get(i)] = i;
            leaves.add(pairs.leaf(cells, order.get(i)));
        }
        List<String> causes = new ArrayList<>();
        RailMatrix matrix =
                new RailMatrix(cells.name(), order.stream().map(pairs::node).toList(), leaves, causes);
        for (int line = 0; line < cells.count(); line++) {
            int cell = place[cells.from(line)] * size + place[cells.to(line)];
            int cause = number(cells.cause(line), causes, cells.outcome(line));
            matrix.state[cell] = switch (cells.outcome(line)) {
                case MEASURED -> MEASURED;
                case NOT_MEASURED -> NOT_MEASURED;
                case FAILED -> (byte) (FAILED + cause);
            };
            matrix.bad[cell] =
                    cells.outcome(line) == Outcome.MEASURED && cells.cause(line) != null ? (byte) (1 + cause) : 0;
            matrix.lineRate[cell] = cells.lineRate(line);
            for (Metric metric : Metric.ofCells()) {
                matrix.values[metric.ordinal()][cell] = cells.value(metric, line);
            }
            String detail = details.get(line);
            if (detail == null) {
                matrix.details.remove(cell);
            } else {
                matrix.details.put(cell, detail);
            }
        }
        return matrix;
    }

    /** Returns the number of a cause of a bad cell, from 1; 0 for one of too many. */
    private static int number(@Nullable String cause, List<String> causes, Outcome outcome) {
        if (cause == null || outcome == Outcome.NOT_MEASURED) {
            return 0;
        }
        int known = causes.indexOf(cause);
        if (known < 0 && causes.size() < MOST_CAUSES) {
            causes.add(cause);
            known = causes.size() - 1;
        }
        return known + 1;
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
                if (which == FAILED ? is >= FAILED : is == which) {
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
        int number = state[cell] >= FAILED ? state[cell] - FAILED : bad[cell] - 1;
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
        return Quantiles.median(measured(metric, row, rowEnd, column, columnEnd));
    }

    /** Returns the values of measured cells. Failed cells may have values, too, but those are not reliable. */
    private double[] measured(Metric metric, int row, int rowEnd, int column, int columnEnd) {
        double[] found = new double[(rowEnd - row) * (columnEnd - column)];
        int count = 0;
        for (int r = row; r < rowEnd; r++) {
            for (int c = column; c < columnEnd; c++) {
                int cell = r * size() + c;
                if (state[cell] == MEASURED && !Float.isNaN(values[metric.ordinal()][cell])) {
                    found[count++] = values[metric.ordinal()][cell];
                }
            }
        }
        return Arrays.copyOf(found, count);
    }

    /** Returns the median line rate; NaN if it is not known. */
    double medianLineRate() {
        return Quantiles.median(IntStream.range(0, lineRate.length)
                .mapToDouble(cell -> lineRate[cell])
                .filter(rate -> !Double.isNaN(rate))
                .toArray());
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
        int metrics = Metric.ofCells().size();
        double[] median = new double[metrics];
        double[] worst = new double[metrics];
        int[] worstNode = new int[metrics];
        for (Metric metric : Metric.ofCells()) {
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
                count(from.begin, from.end, to.begin, to.end, MEASURED),
                count(from.begin, from.end, to.begin, to.end, FAILED),
                count(from.begin, from.end, to.begin, to.end, NOT_MEASURED),
                median,
                worst,
                worstNode);
    }

    private static void worse(Metric metric, int node, double[] line, double[] worst, int[] worstNode) {
        if (line.length >= FEWEST_OF_LINE) {
            double median = Quantiles.median(line);
            if (metric.isRate() ? median < worst[metric.ordinal()] : median > worst[metric.ordinal()]) {
                worst[metric.ordinal()] = median;
                worstNode[metric.ordinal()] = node;
            }
        }
    }

    /** Returns how a node does on this rail. */
    NodeRow node(int node, double[] medians) {
        List<Metric> metrics = Metric.ofCells();
        double[] out = new double[metrics.size()];
        double[] in = new double[metrics.size()];
        double score = 0;
        for (Metric metric : metrics) {
            int at = metric.ordinal();
            out[at] = rowMedian(metric, node);
            in[at] = columnMedian(metric, node);
            score = Math.max(score, Math.max(worse(metric, out[at], medians[at]), worse(metric, in[at], medians[at])));
        }
        int failedOut = countFrom(node, FAILED);
        int failedIn = countInto(node, FAILED);
        int triedOut = failedOut + countFrom(node, MEASURED);
        int triedIn = failedIn + countInto(node, MEASURED);
        // A failed cell counts more than any slow cell.
        score += 20.0 * Math.max(share(failedOut, triedOut), share(failedIn, triedIn));
        return new NodeRow(
                nodes.get(node), leaves.get(node), rail, out, in, failedOut, triedOut, failedIn, triedIn, score);
    }

    /** Returns how many times worse a value is than another one, as a binary logarithm; 0 if it is not worse or not known. */
    private static double worse(Metric metric, double value, double reference) {
        if (Double.isNaN(value) || !(reference > 0)) {
            return 0;
        }
        double ratio = metric.isRate() ? reference / value : value / reference;
        return Math.clamp(Math.log(ratio) / Math.log(2), 0, 10);
    }

    private static double share(int part, int of) {
        return of == 0 ? 0 : (double) part / of;
    }
}
