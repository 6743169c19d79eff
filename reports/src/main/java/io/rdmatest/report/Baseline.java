package io.rdmatest.report;

import io.rdmatest.scenarios.qualification.Qualification;
import io.rdmatest.scenarios.qualification.QualificationComparison;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The earlier runs that a run is held against: what is other becomes a result in its report, and a file beside its summary. */
final class Baseline implements ReportGenerator.Part {

    private final List<Qualification> runs;
    private final double tolerance;
    private final boolean partial;
    private @Nullable QualificationComparison compared;

    /**
     * Creates it.
     *
     * @param runs at least one, the latest last
     * @param tolerance by which share a measurement may be worse or better, from 0
     * @param partial whether only some scenarios were asked for now, and the others are not missed
     */
    Baseline(List<Qualification> runs, double tolerance, boolean partial) {
        this.runs = List.copyOf(runs);
        this.tolerance = tolerance;
        this.partial = partial;
    }

    @Override
    public void addTo(Path summary, Path results) throws IOException {
        Qualification now = Qualification.read(summary);
        List<Qualification> before = partial
                ? runs.stream().map(run -> run.only(now.scenarios().keySet())).toList()
                : runs;
        QualificationComparison made = new QualificationComparison(before, now, tolerance);
        ReportGenerator.write(summary.resolveSibling(ReportGenerator.COMPARISON), made.json());
        ComparisonPage.write(made, Instant.now().toEpochMilli(), results);
        compared = made;
    }

    /** Returns what is other now; null before it was {@link #addTo added} to a report. */
    @Nullable
    QualificationComparison compared() {
        return compared;
    }
}
