package io.rdmatest.scenarios.qualify;

import io.rdmatest.report.culprits.PairLine;
import io.rdmatest.report.culprits.PairLine.Outcome;
import io.rdmatest.report.culprits.PairsReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** Tables of the pairs that were measured, for a console: a row for each node that sends, a column for each that receives. */
final class PairTables {

    /** The largest number of nodes that fits into the lines of a console. */
    private static final int MOST_NODES = 12;

    private static final int LEAST_WIDTH = 10;

    private record Key(String from, String to) {}

    private PairTables() {}

    /**
     * Prints a table for each rail and metric that was measured.
     *
     * @param file the measured pairs
     * @param lines takes the lines; none for a rail with more than {@value #MOST_NODES} nodes
     * @throws IOException if the file can't be read
     */
    static void print(Path file, Consumer<String> lines) throws IOException {
        Map<String, Map<Key, PairLine>> rails = new LinkedHashMap<>();
        for (PairLine cell : new PairsReader().read(file)) {
            // Of two attempts, the second one counts.
            rails.computeIfAbsent(cell.rail(), rail -> new LinkedHashMap<>())
                    .put(new Key(cell.from(), cell.to()), cell);
        }
        rails.forEach((rail, cells) -> {
            SortedSet<String> nodes = new TreeSet<>();
            for (Key key : cells.keySet()) {
                nodes.add(key.from());
                nodes.add(key.to());
            }
            if (nodes.size() <= MOST_NODES) {
                print(rail + ", bandwidth in Gb/s", nodes, cells, cell -> cell.bandwidth() / 1e9, lines);
                print(rail + ", message rate in Mmsg/s", nodes, cells, cell -> cell.messageRate() / 1e6, lines);
                print(rail + ", median round trip in us", nodes, cells, cell -> cell.latencyP50() * 1e6, lines);
            }
        });
    }

    private static void print(
            String title,
            SortedSet<String> nodes,
            Map<Key, PairLine> cells,
            ToDoubleFunction<PairLine> value,
            Consumer<String> lines) {
        if (cells.values().stream().allMatch(cell -> Double.isNaN(value.applyAsDouble(cell)))) {
            return;
        }
        int width = Math.max(
                LEAST_WIDTH, 2 + nodes.stream().mapToInt(String::length).max().orElse(0));
        lines.accept("");
        lines.accept(title + ", from \\ to:");
        List<String> head = new ArrayList<>(List.of(" ".repeat(width)));
        nodes.forEach(node -> head.add(right(node, width)));
        lines.accept(String.join("", head));
        for (String from : nodes) {
            StringBuilder row = new StringBuilder(("%-" + width + "s").formatted(from));
            for (String to : nodes) {
                row.append(right(entry(cells.get(new Key(from, to)), value), width));
            }
            lines.accept(row.toString());
        }
    }

    private static String right(String text, int width) {
        return ("%" + width + "s").formatted(text);
    }

    private static String entry(@Nullable PairLine cell, ToDoubleFunction<PairLine> value) {
        if (cell == null) {
            return "-";
        }
        double number = value.applyAsDouble(cell);
        if (!Double.isNaN(number)) {
            return "%.4g".formatted(number);
        }
        return cell.outcome() == Outcome.FAILED ? "failed" : "unknown";
    }
}
