package io.rdmatest.report.page;

import io.rdmatest.report.culprits.Culprit;
import io.rdmatest.report.culprits.Culprits;
import io.rdmatest.report.culprits.Metric;
import io.rdmatest.report.culprits.PairLine;
import io.rdmatest.report.culprits.PairMatrix;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The measured pairs of a run. They are read and explained once, for the page and for the files beside it. */
public final class RunPairs {

    /** The name of the cells' file. */
    public static final String FILE = "pairs.jsonl";

    /** Clocks of a virtual machine and of its host differ by less. */
    private static final Duration CLOCKS = Duration.ofMinutes(1);

    private final @Nullable PairMatrix matrix;
    private final List<RailMatrix> rails;
    private final Culprits explanation;
    private final List<String> notes;
    private final @Nullable String none;
    private final @Nullable String trouble;

    private final List<PortFigures> ports = new ArrayList<>();

    RunPairs(
            @Nullable PairMatrix matrix,
            List<RailMatrix> rails,
            Culprits explanation,
            List<String> notes,
            @Nullable String none,
            @Nullable String trouble) {
        this.matrix = matrix;
        this.rails = List.copyOf(rails);
        this.explanation = explanation;
        this.notes = List.copyOf(notes);
        this.none = none;
        this.trouble = trouble;
        for (RailMatrix rail : rails) {
            for (int node = 0; node < rail.size(); node++) {
                ports.add(port(rail, node, true));
                ports.add(port(rail, node, false));
            }
        }
    }

    /**
     * Reads them.
     *
     * @param folder may have a {@value #FILE}. One that can't be read counts as none, and {@link #trouble} says why.
     * @param started when the run started: an older file is not of it; null if that does not matter
     */
    public static RunPairs read(Path folder, @Nullable Instant started) {
        Path cells = folder.resolve(FILE);
        try {
            if (!Files.exists(cells)) {
                return without("The run left no " + FILE + " with what each pair of nodes showed", null);
            }
            if (started != null && Files.getLastModifiedTime(cells).toInstant().isBefore(started.minus(CLOCKS))) {
                return without(FILE + " is from an earlier run", null);
            }
            RunPairs read = MeasuredPairs.read(cells);
            return read.rails.isEmpty() ? without(FILE + " has no cell", null) : read;
        } catch (IOException e) {
            return without(null, e.getMessage() == null ? e.toString() : e.getMessage());
        }
    }

    private static RunPairs without(@Nullable String none, @Nullable String trouble) {
        Culprits nothing = new Culprits(List.of(), List.of(), List.of(), 0);
        return new RunPairs(null, List.of(), nothing, List.of(), none, trouble);
    }

    /** Returns all cells; null if there are no pairs. */
    public @Nullable PairMatrix matrix() {
        return matrix;
    }

    /** Returns why a run has no pairs, if nothing is wrong about that; null otherwise. */
    @Nullable
    String none() {
        return none;
    }

    /** Returns why pairs can't be read; null if nothing is wrong. */
    public @Nullable String trouble() {
        return trouble;
    }

    /** Returns the causes that explain bad pairs. */
    public List<Culprit> culprits() {
        return explanation.causes();
    }

    /** Returns what explains the pairs, as lines for a console; none if there are no pairs. */
    public List<String> lines() {
        if (matrix == null) {
            return List.of();
        }
        List<String> lines = new ArrayList<>();
        lines.add(
                culprits().isEmpty()
                        ? "No culprit in %d pairs.".formatted(cells())
                        : culprits().size() == 1 ? "Culprit:" : "Culprits:");
        explanation.lines().forEach(line -> lines.add("  " + line));
        return lines;
    }

    /** Returns what limits the result, as sentences. */
    public List<String> notes() {
        return notes;
    }

    /** Returns the figures of each port, sending first, by rail and node. */
    public List<PortFigures> ports() {
        return List.copyOf(ports);
    }

    /** Returns the cells of each rail. */
    List<RailMatrix> rails() {
        return rails;
    }

    /** Returns how many cells were measured or failed. */
    int cells() {
        return rails.stream()
                .mapToInt(rail -> rail.count(RailMatrix.MEASURED) + rail.count(RailMatrix.FAILED))
                .sum();
    }

    /** Returns the lines of bad cells that no culprit explains. */
    List<PairLine> unexplainedCells() {
        return explanation.unexplained();
    }

    private static PortFigures port(RailMatrix rail, int node, boolean sending) {
        return new PortFigures(
                rail.nodes.get(node),
                rail.rail,
                sending,
                count(rail, node, sending, RailMatrix.MEASURED),
                count(rail, node, sending, RailMatrix.FAILED),
                count(rail, node, sending, RailMatrix.NOT_MEASURED),
                median(rail, node, sending, Metric.BANDWIDTH),
                median(rail, node, sending, Metric.MESSAGE_RATE),
                median(rail, node, sending, Metric.LATENCY_P50),
                median(rail, node, sending, Metric.LATENCY_P99));
    }

    private static int count(RailMatrix rail, int node, boolean sending, byte state) {
        return sending ? rail.countFrom(node, state) : rail.countInto(node, state);
    }

    private static double median(RailMatrix rail, int node, boolean sending, Metric metric) {
        return sending ? rail.rowMedian(metric, node) : rail.columnMedian(metric, node);
    }

    /** Returns the bad pairs that no culprit explains. */
    public List<BadPair> unexplained() {
        List<BadPair> found = new ArrayList<>();
        for (RailMatrix rail : rails) {
            for (int from = 0; from < rail.size(); from++) {
                for (int to = 0; to < rail.size(); to++) {
                    String cause = rail.causeOfBad(from, to);
                    if (cause != null && !isExplained(rail, from, to)) {
                        found.add(new BadPair(rail.rail, rail.nodes.get(from), rail.nodes.get(to), cause));
                    }
                }
            }
        }
        return found;
    }

    private boolean isExplained(RailMatrix rail, int from, int to) {
        return culprits().stream()
                .anyMatch(culprit -> culprit.explains(
                        rail.rail,
                        rail.nodes.get(from),
                        rail.nodes.get(to),
                        rail.leaves.get(from),
                        rail.leaves.get(to)));
    }
}
