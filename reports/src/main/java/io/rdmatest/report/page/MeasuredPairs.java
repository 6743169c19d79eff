package io.rdmatest.report.page;

import io.rdmatest.report.culprits.Culprit;
import io.rdmatest.report.culprits.Culprits;
import io.rdmatest.report.culprits.PairLine;
import io.rdmatest.report.culprits.PairsReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Reads {@code pairs.jsonl}. Only this class of the package needs the scenarios, which are not on every class path of the
 * reports.
 */
final class MeasuredPairs {

    /**
     * The largest number of cells whose counters are on the page; more would make it too large. Cells that did not work are added
     * in any case.
     */
    private static final int MOST_DETAILS = 50_000;

    private final Map<String, RailCells> rails = new TreeMap<>(NaturalOrder.NAMES);
    private final List<String> notes = new ArrayList<>();
    private int details;
    private int badDetails;
    private int detailsLeftOut;

    private MeasuredPairs() {}

    /**
     * Reads the cells and explains them.
     *
     * @throws IOException if the file can't be read, or a line of it is no cell; the message names file and line
     */
    static PairsPart read(Path file) throws IOException {
        MeasuredPairs pairs = new MeasuredPairs();
        PairsReader reader = new PairsReader();
        reader.read(file, (cell, position) -> pairs.add(cell));
        pairs.notes.addAll(reader.notes());
        if (pairs.detailsLeftOut > 0) {
            pairs.notes.add(
                    "The page leaves out the counters of " + pairs.detailsLeftOut + " cells. pairs.jsonl has them.");
        }
        Culprits all = Culprits.ofFiles(List.of(file));
        // A run judges each pair, and measures a slow one again: what is only unusual in its matrix is not bad.
        Culprits culprits = new Culprits(
                all.causes(),
                all.unexplained().stream().filter(cell -> cell.cause() != null).toList(),
                all.notes(),
                all.cells());
        culprits.notes().stream().filter(note -> !pairs.notes.contains(note)).forEach(pairs.notes::add);
        return new PairsPart(
                pairs.rails.values().stream().map(RailCells::matrix).toList(),
                culprits.causes().stream().map(MeasuredPairs::row).toList(),
                culprits.unexplained().stream().map(MeasuredPairs::row).toList(),
                pairs.notes,
                culprits.lines());
    }

    private void add(PairLine cell) {
        byte state = switch (cell.outcome()) {
            case MEASURED -> RailCells.MEASURED;
            case FAILED -> RailCells.FAILED;
            case NOT_MEASURED -> RailCells.NOT_MEASURED;
        };
        rails.computeIfAbsent(cell.rail(), RailCells::new)
                .add(
                        cell.from(),
                        cell.to(),
                        cell.fromLeaf(),
                        cell.toLeaf(),
                        state,
                        cell.cause(),
                        cell.lineRate(),
                        new double[] {cell.bandwidth(), cell.messageRate(), cell.latencyP50(), cell.latencyP99()},
                        limited(detail(cell), state));
    }

    private @Nullable String limited(String detail, byte state) {
        if (detail.isEmpty()) {
            return null;
        }
        boolean isBad = state != RailCells.MEASURED;
        if (isBad ? badDetails == MOST_DETAILS : details == MOST_DETAILS) {
            detailsLeftOut++;
            return null;
        }
        if (isBad) {
            badDetails++;
        } else {
            details++;
        }
        return detail;
    }

    private static String detail(PairLine cell) {
        StringJoiner words = new StringJoiner("; ");
        if (cell.attempts() > 1) {
            words.add(cell.attempts() + " attempts");
        }
        if (cell.outcome() == PairLine.Outcome.NOT_MEASURED && cell.cause() != null) {
            words.add("cause " + cell.cause());
        }
        counters("sender", cell.counters().from(), words);
        counters("receiver", cell.counters().to(), words);
        return words.toString();
    }

    private static void counters(String side, Map<String, Long> counters, StringJoiner words) {
        StringJoiner grown = new StringJoiner(", ", "counters of the " + side + ": ", "").setEmptyValue("");
        counters.forEach((name, by) -> {
            if (by != 0) {
                grown.add(name + " " + by);
            }
        });
        if (grown.length() > 0) {
            words.add(grown.toString());
        }
    }

    private static CulpritRow row(Culprit culprit) {
        Culprit.Evidence evidence = culprit.evidence();
        String metric = evidence.metric();
        return switch (culprit) {
            case Culprit.Node node ->
                new CulpritRow(
                        culprit.name(),
                        evidence.text(),
                        metric,
                        "",
                        from(node),
                        into(node),
                        CulpritRow.NODES,
                        culprit.isSuspect());
            case Culprit.Port port ->
                new CulpritRow(
                        culprit.name(),
                        evidence.text(),
                        metric,
                        port.rail(),
                        from(port),
                        into(port),
                        CulpritRow.NODES,
                        culprit.isSuspect());
            case Culprit.Block block ->
                new CulpritRow(
                        culprit.name(),
                        evidence.text(),
                        metric,
                        block.rail(),
                        block.fromLeaf(),
                        block.toLeaf(),
                        CulpritRow.LEAVES,
                        culprit.isSuspect());
            case Culprit.Path path ->
                new CulpritRow(
                        culprit.name(),
                        evidence.text(),
                        metric,
                        path.rail(),
                        path.from(),
                        path.to(),
                        CulpritRow.CELL,
                        culprit.isSuspect());
        };
    }

    private static String from(Culprit.Node node) {
        return node.direction() == Culprit.Direction.IN ? "" : node.node();
    }

    private static String into(Culprit.Node node) {
        return node.direction() == Culprit.Direction.OUT ? "" : node.node();
    }

    private static String from(Culprit.Port port) {
        return port.direction() == Culprit.Direction.IN ? "" : port.node();
    }

    private static String into(Culprit.Port port) {
        return port.direction() == Culprit.Direction.OUT ? "" : port.node();
    }

    private static CulpritRow row(PairLine cell) {
        String cause = cell.cause();
        StringJoiner text = new StringJoiner(", ");
        text.add(cell.outcome() + (cause == null ? "" : " (" + cause + ")"));
        value(Metric.BANDWIDTH, cell.bandwidth(), text);
        value(Metric.MESSAGE_RATE, cell.messageRate(), text);
        value(Metric.LATENCY_P50, cell.latencyP50(), text);
        value(Metric.LATENCY_P99, cell.latencyP99(), text);
        return new CulpritRow(
                cell.from() + " → " + cell.to() + " on " + cell.rail(),
                text.toString(),
                "",
                cell.rail(),
                cell.from(),
                cell.to(),
                CulpritRow.CELL,
                false);
    }

    private static void value(Metric metric, double value, StringJoiner text) {
        if (!Double.isNaN(value)) {
            text.add(metric.words() + " " + metric.text(value) + " " + metric.unit());
        }
    }
}
