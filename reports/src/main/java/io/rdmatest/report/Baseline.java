package io.rdmatest.report;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.scenarios.qualification.Qualification;
import io.rdmatest.scenarios.qualification.QualificationComparison;
import io.rdmatest.scenarios.qualification.QualificationComparison.Change;
import io.rdmatest.scenarios.qualification.QualificationComparison.Shift;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The earlier runs that a run is held against: what changed becomes a result in its report, and a file beside its summary. */
final class Baseline {

    private final List<Qualification> runs;
    private final double tolerance;
    private final boolean partial;

    /** Added by one thread, and read by another where a signal ends the run. */
    private final List<Qualification> again = new CopyOnWriteArrayList<>();

    private @Nullable QualificationComparison compared;

    private Baseline(List<Qualification> runs, double tolerance, boolean partial) {
        this.runs = List.copyOf(runs);
        this.tolerance = tolerance;
        this.partial = partial;
    }

    /**
     * Reads it.
     *
     * @param files the summaries of earlier runs, the latest last, or folders of such, see {@link Qualification#readAll}
     * @param percent by how much a measurement may be worse or better, see {@link QualificationComparison#tolerance}
     * @param partial whether only some scenarios are asked for now, and the others are not missed
     * @param out takes a line if there is nothing to compare with yet
     * @return null if there is nothing: the folders are empty
     * @throws IOException if a file can't be read or is no such summary; the message names it
     * @throws IllegalArgumentException if the percentage is another one
     */
    static @Nullable Baseline read(List<Path> files, double percent, boolean partial, Consumer<String> out)
            throws IOException {
        double tolerance = QualificationComparison.tolerance(percent);
        List<Qualification> runs;
        try {
            runs = Qualification.readAll(files);
        } catch (IOException e) {
            throw new IOException("--baseline: " + e.getMessage(), e);
        }
        if (runs.isEmpty()) {
            out.accept("Nothing to compare with yet: no file in "
                    + files.stream().map(Path::toString).collect(Collectors.joining(", ")) + " ends with .json");
            return null;
        }
        return new Baseline(runs, tolerance, partial);
    }

    /**
     * Compares, and adds what changed to a report.
     *
     * @param summary what the run has written
     * @param results the directory of its Allure results
     */
    void addTo(Path summary, Path results) throws IOException {
        QualificationComparison made = compare(Qualification.read(summary));
        ReportGenerator.write(summary.resolveSibling(ReportGenerator.COMPARISON), made.json());
        ComparisonPage.write(made, Instant.now().toEpochMilli(), results);
        compared = made;
    }

    private QualificationComparison compare(Qualification now) {
        List<Qualification> before = partial
                ? runs.stream().map(run -> run.only(now.scenarios().keySet())).toList()
                : runs;
        return new QualificationComparison(before, now, again, tolerance);
    }

    /** Returns which measurements of a run are worse each time that it was made. */
    List<Shift> worse(Run run) throws IOException {
        return compare(qualification(run)).shifts().stream()
                .filter(shift -> shift.change() == Change.WORSE)
                .toList();
    }

    /** Takes in what came of a run when it was made again. */
    void again(Run repeated) throws IOException {
        again.add(qualification(repeated));
    }

    private static Qualification qualification(Run run) throws IOException {
        return Qualification.of(Path.of("this run"), new ObjectMapper().valueToTree(run));
    }

    /**
     * Tells what changed, if it was {@link #addTo added} to a report.
     *
     * @param out takes each line
     * @return whether any of it is worse
     */
    boolean tell(Consumer<String> out) {
        QualificationComparison made = compared;
        if (made == null) {
            return false;
        }
        made.lines().forEach(out);
        return made.count(Change.WORSE) > 0;
    }
}
