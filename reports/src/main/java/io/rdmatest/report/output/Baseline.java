package io.rdmatest.report.output;

import io.rdmatest.ExitStatus;
import io.rdmatest.report.culprits.PairMatrix;
import io.rdmatest.report.nights.CellComparison;
import io.rdmatest.report.nights.CellComparison.Group;
import io.rdmatest.report.nights.Qualification;
import io.rdmatest.report.nights.QualificationComparison;
import io.rdmatest.report.nights.QualificationComparison.Change;
import io.rdmatest.report.nights.QualificationComparison.Finding;
import io.rdmatest.report.nights.QualificationComparison.Shift;
import io.rdmatest.report.page.RunPairs;
import io.rdmatest.report.run.JsonFile;
import io.rdmatest.report.run.Run;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The earlier runs that a run is compared with. What changed becomes files beside the run's summary. */
public final class Baseline {

    /** The largest number of charts of culprits. */
    private static final int MOST_CULPRITS = 24;

    /** The name of a run that has no summary yet. */
    private static final Path REPETITION = Path.of("this run");

    private final String files;
    private final List<Qualification> runs;
    private final int last;
    private final double tolerance;
    private final boolean partial;

    /** One thread adds repetitions. Another thread reads them if a signal ends the run. */
    private final List<Qualification> again = new CopyOnWriteArrayList<>();

    /** Which of the earlier runs are of another kind than this one. */
    private final List<String> leftOut = new ArrayList<>();

    private @Nullable QualificationComparison compared;
    private @Nullable CellComparison cells;
    private @Nullable String trouble;

    private Baseline(String files, List<Qualification> runs, int last, double tolerance, boolean partial) {
        this.files = files;
        this.runs = List.copyOf(runs);
        this.last = last;
        this.tolerance = tolerance;
        this.partial = partial;
    }

    /**
     * Reads it.
     *
     * @param files the summaries of earlier runs, the latest last, or folders of such, see {@link Qualification#readAll}
     * @param last how many of the latest ones say what is usual, see {@link QualificationComparison#last}
     * @param percent by how much a measurement may be worse or better, see {@link QualificationComparison#tolerance}
     * @param partial whether only some scenarios are selected now, so that the others do not count as missing
     * @param out takes a line if there is nothing to compare with yet, and one for each summary that is left out
     * @return the baseline; null if there are no runs yet, because the folders are empty
     * @throws IOException if a file can't be read or is no such summary; the message names it
     * @throws IllegalArgumentException if a number is out of range
     */
    public static @Nullable Baseline read(
            List<Path> files, int last, double percent, boolean partial, Consumer<String> out) throws IOException {
        double tolerance = QualificationComparison.tolerance(percent);
        int most = QualificationComparison.last(last);
        String folders = files.stream().map(Path::toString).collect(Collectors.joining(", "));
        List<String> leftOut = new ArrayList<>();
        List<Qualification> runs;
        try {
            runs = Qualification.readAll(files, QualificationComparison.DRIFT * most, leftOut::add);
        } catch (IOException e) {
            throw new IOException("--baseline: " + e.getMessage(), e);
        }
        if (runs.isEmpty() && leftOut.isEmpty()) {
            out.accept("Nothing to compare with yet: " + folders
                    + " has neither an archived run nor a file whose name ends with .json. --archive DIR keeps this run for later"
                    + " ones.");
            return null;
        }
        leftOut.forEach(out);
        return new Baseline(folders, runs, most, tolerance, partial);
    }

    /**
     * Compares a run, and writes the changes beside its summary. A failure here affects nothing else of the run.
     *
     * @param run the run, named by its summary
     * @param pairs the pairs that the run measured: their cells are compared, and the values of the culprits are reported night
     *     by night
     * @return the changes in a sentence
     */
    String compare(Qualification run, RunPairs pairs) {
        if (runs.isEmpty()) {
            return nothing();
        }
        try {
            List<Qualification> alike = Qualification.comparable(runs, run, leftOut::add);
            if (alike.isEmpty()) {
                return leftOut.getFirst();
            }
            QualificationComparison made = compare(alike, run);
            Map<String, Object> json = new LinkedHashMap<>(made.json());
            CellComparison comparedCells = compareCells(alike, run, pairs);
            if (comparedCells != null) {
                json.put("cells", comparedCells.json());
                json.put("culprits", comparedCells.history());
            }
            JsonFile.write(run.file().resolveSibling(ReportGenerator.COMPARISON), json);
            Path ignored = Files.writeString(
                    run.file().resolveSibling(ReportGenerator.COMPARISON_PAGE), ComparisonPage.toHtml(made));
            compared = made;
            cells = comparedCells;
            return made.summary(comparedCells);
        } catch (IOException | RuntimeException e) {
            trouble = "not compared with earlier runs: " + (e.getMessage() == null ? e : e.getMessage());
            return trouble;
        }
    }

    /** Compares the cells with those of the earlier runs; returns null if this run has none. */
    private @Nullable CellComparison compareCells(List<Qualification> alike, Qualification run, RunPairs pairs) {
        PairMatrix matrix = pairs.matrix();
        if (matrix == null) {
            return null;
        }
        List<Group> groups =
                pairs.culprits().stream().limit(MOST_CULPRITS).map(Group::of).toList();
        return CellComparison.of(run, matrix, alike, last, tolerance, groups);
    }

    /** Returns the message for the case that every earlier run was left out. */
    private String nothing() {
        return "Nothing was compared: no run in " + files + " can be used. Restore the summaries, or name others.";
    }

    private QualificationComparison compare(List<Qualification> alike, Qualification now) {
        List<Qualification> before = partial
                ? alike.stream().map(run -> run.only(now.scenarios().keySet())).toList()
                : alike;
        return new QualificationComparison(before, now, again, last, tolerance);
    }

    /**
     * Returns the measurements that are worse in a run and in all of its repetitions. Drifts are left out, because a repetition
     * can't change them.
     */
    public List<Shift> worse(Run run) {
        Qualification now = run.qualification(REPETITION);
        List<Qualification> alike = Qualification.comparable(runs, now, ignored -> {});
        if (alike.isEmpty()) {
            return List.of();
        }
        return compare(alike, now).shifts().stream()
                .filter(shift -> shift.change() == Change.WORSE && shift.finding() != Finding.DRIFT)
                .toList();
    }

    /** Adds the results of a repetition. */
    public void again(Run repeated) {
        again.add(repeated.qualification(REPETITION));
    }

    /** Returns what changed in scenarios; null if nothing was compared. */
    @Nullable
    QualificationComparison compared() {
        return compared;
    }

    /** Returns what changed in pairs of nodes; null if none were compared. */
    @Nullable
    CellComparison cells() {
        return cells;
    }

    /**
     * Tells what changed, if a run was {@link #compare(Qualification, RunPairs) compared}.
     *
     * @param out takes each line
     * @return the exit status that this asks for
     */
    int tell(Consumer<String> out) {
        if (runs.isEmpty()) {
            out.accept(nothing());
            return ExitStatus.NOTHING_COMPARED.code();
        }
        if (trouble != null) {
            out.accept(trouble);
            return ExitStatus.HOST_NOT_READY.code();
        }
        leftOut.forEach(out);
        QualificationComparison made = compared;
        if (made == null) {
            return leftOut.isEmpty() ? 0 : ExitStatus.NOTHING_COMPARED.code();
        }
        made.lines().forEach(out);
        CellComparison both = cells;
        if (both != null) {
            both.lines().forEach(out);
        }
        boolean isWorse =
                made.count(Change.WORSE) > 0 || (both != null && !both.worse().isEmpty());
        boolean isCompared = made.isAnythingCompared() || (both != null && both.compared() > 0);
        ExitStatus status =
                !isCompared ? ExitStatus.NOTHING_COMPARED : isWorse ? ExitStatus.WORSE : ExitStatus.VERIFIED;
        return status.code();
    }
}
