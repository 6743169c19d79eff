package io.rdmatest.report.page;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The cells of one rail in the order of their lines, in columns: a million of them takes about 40 MB. */
final class RailCells {

    /** A cell that nobody tried. */
    static final byte NONE = 0;

    static final byte MEASURED = 1;
    static final byte NOT_MEASURED = 2;

    /** The state of a failed cell without a cause. With a cause, the state is this plus the number of the cause, from 1. */
    static final byte FAILED = 3;

    private static final int MOST_CAUSES = 100;

    private final String name;
    private final Map<String, Integer> numbers = new HashMap<>();
    private final List<String> nodes = new ArrayList<>();
    private final List<@Nullable String> leaves = new ArrayList<>();
    private final List<String> causes = new ArrayList<>();
    private int count;
    private int[] from = new int[64];
    private int[] to = new int[64];
    private byte[] state = new byte[64];

    /** The number of the cause of a bad measured cell, plus 1; 0 for other cells. */
    private byte[] bad = new byte[64];

    private float[] lineRate = new float[64];
    private final float[][] values = new float[Metric.values().length][64];

    /** What else there is to say about a cell, by the number of its line. */
    private final Map<Integer, String> details = new HashMap<>();

    RailCells(String name) {
        this.name = name;
    }

    /**
     * Adds a cell. Of those with the same sender and receiver the last one counts.
     *
     * @param itsState one of the constants above; {@link #FAILED} with or without a cause
     * @param cause why it failed or was not measured, or why it is bad although it was measured; null if that is not known
     * @param itsValues by {@link Metric}, in SI units, NaN where there is none
     * @param detail counters and the like, in words; null if there is nothing to say
     */
    void add(
            String fromNode,
            String toNode,
            @Nullable String fromLeaf,
            @Nullable String toLeaf,
            byte itsState,
            @Nullable String cause,
            double itsLineRate,
            double[] itsValues,
            @Nullable String detail) {
        if (count == from.length) {
            grow();
        }
        int at = count++;
        from[at] = node(fromNode, fromLeaf);
        to[at] = node(toNode, toLeaf);
        state[at] = itsState == FAILED && cause != null ? (byte) (FAILED + cause(cause)) : itsState;
        bad[at] = itsState == MEASURED && cause != null ? (byte) (1 + cause(cause)) : 0;
        lineRate[at] = (float) itsLineRate;
        for (int metric = 0; metric < values.length; metric++) {
            values[metric][at] = (float) itsValues[metric];
        }
        if (detail != null) {
            details.put(at, detail);
        }
    }

    private void grow() {
        int size = 2 * count;
        from = Arrays.copyOf(from, size);
        to = Arrays.copyOf(to, size);
        state = Arrays.copyOf(state, size);
        bad = Arrays.copyOf(bad, size);
        lineRate = Arrays.copyOf(lineRate, size);
        for (int metric = 0; metric < values.length; metric++) {
            values[metric] = Arrays.copyOf(values[metric], size);
        }
    }

    private int node(String node, @Nullable String leaf) {
        int number = numbers.computeIfAbsent(node, added -> {
            nodes.add(added);
            leaves.add(null);
            return nodes.size() - 1;
        });
        if (leaf != null) {
            leaves.set(number, leaf);
        }
        return number;
    }

    /** Returns the number of a cause, from 1; 0 for one of too many. */
    private int cause(String cause) {
        int known = causes.indexOf(cause);
        if (known < 0 && causes.size() < MOST_CAUSES) {
            causes.add(cause);
            known = causes.size() - 1;
        }
        return known + 1;
    }

    /** Returns the cells as a square, with the nodes sorted by leaf and name. */
    RailMatrix matrix() {
        Integer[] order = new Integer[nodes.size()];
        Arrays.setAll(order, i -> i);
        // Nodes whose leaf is not known come last.
        Arrays.sort(order, (a, b) -> {
            String leaf = leaves.get(a);
            String other = leaves.get(b);
            int byLeaf = leaf == null || other == null
                    ? Boolean.compare(leaf == null, other == null)
                    : NaturalOrder.NAMES.compare(leaf, other);
            return byLeaf != 0 ? byLeaf : NaturalOrder.NAMES.compare(nodes.get(a), nodes.get(b));
        });
        int size = order.length;
        int[] place = new int[size];
        List<String> sorted = new ArrayList<>(size);
        List<@Nullable String> sortedLeaves = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            place[order[i]] = i;
            sorted.add(nodes.get(order[i]));
            sortedLeaves.add(leaves.get(order[i]));
        }
        RailMatrix matrix = new RailMatrix(name, sorted, sortedLeaves, List.copyOf(causes));
        for (int i = 0; i < count; i++) {
            int cell = Math.addExact(Math.multiplyExact(place[from[i]], size), place[to[i]]);
            matrix.state[cell] = state[i];
            matrix.bad[cell] = bad[i];
            matrix.lineRate[cell] = lineRate[i];
            for (int metric = 0; metric < values.length; metric++) {
                matrix.values[metric][cell] = values[metric][i];
            }
            String detail = details.get(i);
            if (detail == null) {
                matrix.details.remove(cell);
            } else {
                matrix.details.put(cell, detail);
            }
        }
        return matrix;
    }
}
