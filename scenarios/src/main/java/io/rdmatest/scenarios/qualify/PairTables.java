package io.rdmatest.scenarios.qualify;

import io.rdmatest.report.culprits.Metric;
import io.rdmatest.report.culprits.PairLine.Outcome;
import io.rdmatest.report.culprits.PairMatrix;
import io.rdmatest.report.culprits.PairMatrix.Rail;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** Tables of the pairs that were measured, for a console: a row for each node that sends, a column for each that receives. */
final class PairTables {

    /** The largest number of nodes that fits into the lines of a console. */
    private static final int MOST_NODES = 12;

    private static final int LEAST_WIDTH = 10;

    private PairTables() {}

    /**
     * Prints a table for each rail and metric that was measured.
     *
     * @param pairs the measured pairs
     * @param lines takes the lines; none for a rail with more than {@value #MOST_NODES} nodes
     */
    static void print(PairMatrix pairs, Consumer<String> lines) {
        for (Rail rail : pairs.rails()) {
            List<Integer> nodes = IntStream.range(0, pairs.nodeCount())
                    .filter(rail::has)
                    .boxed()
                    .sorted(Comparator.comparing(pairs::node))
                    .toList();
            if (nodes.size() <= MOST_NODES) {
                print(rail.name() + ", bandwidth in Gb/s", Metric.BANDWIDTH, pairs, rail, nodes, lines);
                print(rail.name() + ", message rate in Mmsg/s", Metric.MESSAGE_RATE, pairs, rail, nodes, lines);
                print(rail.name() + ", median round trip in us", Metric.LATENCY_P50, pairs, rail, nodes, lines);
            }
        }
    }

    private static void print(
            String title, Metric metric, PairMatrix pairs, Rail rail, List<Integer> nodes, Consumer<String> lines) {
        // Of two attempts, the second one counts.
        Map<List<Integer>, String> cells = new HashMap<>();
        Set<List<Integer>> known = new HashSet<>();
        for (int line = 0; line < rail.count(); line++) {
            List<Integer> cell = List.of(rail.from(line), rail.to(line));
            double value = rail.value(metric, line) * metric.scale();
            cells.put(cell, entry(value, rail.outcome(line)));
            boolean ignored = Double.isNaN(value) ? known.remove(cell) : known.add(cell);
        }
        if (known.isEmpty()) {
            return;
        }
        int width = Math.max(
                LEAST_WIDTH,
                2
                        + nodes.stream()
                                .mapToInt(node -> pairs.node(node).length())
                                .max()
                                .orElse(0));
        lines.accept("");
        lines.accept(title + ", from \\ to:");
        StringBuilder head = new StringBuilder(" ".repeat(width));
        nodes.forEach(node -> head.append(right(pairs.node(node), width)));
        lines.accept(head.toString());
        for (int from : nodes) {
            StringBuilder row = new StringBuilder(("%-" + width + "s").formatted(pairs.node(from)));
            nodes.forEach(to -> row.append(right(cells.getOrDefault(List.of(from, to), "-"), width)));
            lines.accept(row.toString());
        }
    }

    private static String right(String text, int width) {
        return ("%" + width + "s").formatted(text);
    }

    private static String entry(double value, Outcome outcome) {
        if (!Double.isNaN(value)) {
            return "%.4g".formatted(value);
        }
        return outcome == Outcome.FAILED ? "failed" : "unknown";
    }
}
