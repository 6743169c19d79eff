package io.rdmatest.report.page;

import io.rdmatest.report.culprits.Culprits;
import io.rdmatest.report.culprits.PairLine;
import io.rdmatest.report.culprits.PairMatrix;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;

/** Reads {@code pairs.jsonl}, once for all that is made of it. */
final class MeasuredPairs {

    /**
     * The largest number of cells whose counters are on the page; more would make it too large. Cells that did not work are added
     * in any case.
     */
    private static final int MOST_DETAILS = 50_000;

    private final Map<String, Map<Integer, String>> texts = new HashMap<>();
    private int details;
    private int badDetails;
    private int detailsLeftOut;

    private MeasuredPairs() {}

    /**
     * Reads the cells and explains them.
     *
     * @throws IOException if the file can't be read, or a line of it is no cell; the message names file and line
     */
    static RunPairs read(Path file) throws IOException {
        MeasuredPairs pairs = new MeasuredPairs();
        PairMatrix matrix = PairMatrix.read(List.of(file), pairs::add);
        Culprits all = Culprits.of(matrix);
        List<String> notes = new ArrayList<>(all.notes());
        if (pairs.detailsLeftOut > 0) {
            notes.add("The page leaves out the counters of " + pairs.detailsLeftOut + " cells. pairs.jsonl has them.");
        }
        return new RunPairs(
                matrix,
                matrix.rails().stream()
                        .sorted(Comparator.comparing(PairMatrix.Rail::name, NaturalOrder.NAMES))
                        .map(rail -> RailMatrix.of(matrix, rail, pairs.texts.getOrDefault(rail.name(), Map.of())))
                        .toList(),
                // A run judges each pair, and measures a slow one again: what is only unusual in its matrix is not bad.
                new Culprits(
                        all.causes(),
                        all.unexplained().stream()
                                .filter(cell -> cell.cause() != null)
                                .toList(),
                        all.notes(),
                        all.cells()),
                notes,
                null,
                null);
    }

    private void add(PairLine cell, int line) {
        String text = limited(detail(cell), cell.outcome() != PairLine.Outcome.MEASURED);
        if (text != null) {
            texts.computeIfAbsent(cell.rail(), rail -> new HashMap<>()).put(line, text);
        }
    }

    private @Nullable String limited(String detail, boolean isBad) {
        if (detail.isEmpty()) {
            return null;
        }
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
}
