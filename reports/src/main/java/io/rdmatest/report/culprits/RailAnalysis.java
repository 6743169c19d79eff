package io.rdmatest.report.culprits;

import io.rdmatest.report.culprits.Candidate.Shape;
import io.rdmatest.report.culprits.PairLine.Outcome;
import io.rdmatest.report.culprits.PathSearch.BadPath;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Explains the cells of one rail by the fewest causes, with the evidence for each. {@link RailCells} holds the cells, {@link
 * Usual} estimates what is usual, {@link Significance} weighs the evidence for a candidate, {@link CauseSearch} selects among
 * candidates, and {@link PathSearch} examines the remaining cells one by one.
 */
final class RailAnalysis {

    private final RailCells cells;
    private final Usual usual;
    private final CauseSearch causes;
    private final PathSearch paths;
    private final @Nullable Double[] medians = new Double[Metric.ALL.length];

    RailAnalysis(PairMatrix.Rail rail, int nodeCount) {
        cells = new RailCells(rail, nodeCount);
        usual = new Usual(cells);
        causes = new CauseSearch(cells, usual);
        paths = new PathSearch(cells, usual, causes);
    }

    RailCells cells() {
        return cells;
    }

    CauseSearch causes() {
        return causes;
    }

    PathSearch paths() {
        return paths;
    }

    String name() {
        return cells.rail.name;
    }

    /** Returns the references of bad cells that no cause explains. */
    List<Long> unexplained() {
        return paths.unexplained().stream()
                .map(each -> cells.rail.reference[cells.line(each[0] * cells.size + each[1])])
                .toList();
    }

    /** Cells as they were measured. */
    final class Collected {

        int of;
        int bad;
        int failed;
        private final List<double[]> values = new ArrayList<>();

        /** Returns the values of a metric that were measured. */
        double[] values(int m) {
            return values.stream()
                    .mapToDouble(each -> each[m])
                    .filter(v -> !Double.isNaN(v))
                    .toArray();
        }

        Map<String, Integer> failures = new TreeMap<>();
    }

    /** Returns the metric that shows a cause most clearly; null if its cells failed. */
    @Nullable
    Metric metric(Candidate line) {
        return causes.score(line).metric();
    }

    /**
     * Returns the residual below which a cell of a cause is nearer to the cause than to what is usual; NaN if its cells failed.
     */
    private double limit(Candidate line) {
        Metric metric = metric(line);
        if (metric == null) {
            return Double.NaN;
        }
        double effect = causes.score(line).effect();
        return Double.isInfinite(effect) ? -metric.least : effect / 2;
    }

    /**
     * Judges a line that measured a cause again. It is judged like the cells of the matrix: by its distance from what is usual
     * between these two ports. A line is no evidence if its own cell is good in spite of the cause.
     *
     * @param cause the cause
     * @param from the port that sends, by its number on this rail
     * @param to the port that receives, likewise
     * @param line the line
     * @return whether the line is nearer to the cause than to what is usual; null if it is no evidence
     */
    @Nullable
    Boolean isAsBad(Candidate cause, int from, int to, PairLine line) {
        String why = line.cause();
        boolean failed = line.outcome() == Outcome.FAILED;
        if (line.outcome() == Outcome.NOT_MEASURED || (failed && PairMatrix.isHostsFault(why))) {
            return null;
        }
        int cell = from * cells.size + to;
        Metric metric = metric(cause);
        double limit = limit(cause);
        if (isGoodInSpiteOf(cause, from, to)) {
            return null;
        }
        if (failed || metric == null) {
            return failed;
        }
        double residual = usual.residual(metric, line, cell);
        return Double.isNaN(residual) ? null : residual < limit;
    }

    /**
     * Returns whether the cell of a pair is good in spite of a cause. Measuring such a pair again is no evidence about the cause.
     */
    boolean isGoodInSpiteOf(Candidate cause, int from, int to) {
        int cell = from * cells.size + to;
        Metric metric = metric(cause);
        return cells.isKnown(cell)
                && !cells.isFailed(cell)
                && (metric == null || usual.residual[metric.ordinal()][cell] >= limit(cause));
    }

    /**
     * Returns the share of the line rate that another program measured, as a logarithm; NaN if rdmatest measured another metric.
     * What is usual between leaves does not count: it shows the load of all pairs, and the other program measures one pair alone.
     */
    double share(Metric metric, PairLine line) {
        return cells.has[metric.ordinal()] ? cells.logarithm(metric, line) : Double.NaN;
    }

    /**
     * Returns whether a pair is good for all that is known: no cause, no path and no sign of a lone bad cell is against it, and no
     * cause is against its ports, whose other cells may not have been measured.
     */
    boolean isUnsuspected(int from, int to) {
        return isGood(from, to)
                && !causes.isFound(new Candidate(Shape.ROW, from, 0))
                && !causes.isFound(new Candidate(Shape.COLUMN, to, 0));
    }

    private boolean isGood(int from, int to) {
        return cells.covers[from * cells.size + to] == 0
                && paths.paths().stream().noneMatch(path -> path.from() == from && path.to() == to)
                && paths.unexplained().stream().noneMatch(cell -> cell[0] == from && cell[1] == to);
    }

    /**
     * Returns the residual of a metric below which a cell is nearer to a cause than to what is usual; NaN if another metric shows
     * the cause.
     */
    double limit(Candidate line, Metric metric) {
        return metric(line) == metric ? limit(line) : Double.NaN;
    }

    private Collected collected(int[] some, @Nullable Metric metric, double limit) {
        Collected all = new Collected();
        for (int cell : some) {
            all.of++;
            if (cells.isFailed(cell)) {
                all.failed++;
                all.bad++;
                String cause = cells.rail.causeOfBad(cells.line(cell));
                all.failures.merge(cause == null ? "no cause given" : cause, 1, Integer::sum);
                continue;
            }
            double[] values = new double[Metric.ALL.length];
            for (int m = 0; m < Metric.ALL.length; m++) {
                values[m] = cells.rail.values[m][cells.line(cell)];
            }
            all.values.add(values);
            if (metric != null && usual.residual[metric.ordinal()][cell] < limit) {
                all.bad++;
            }
        }
        return all;
    }

    /** Returns the cells of a cause. */
    Collected collect(Candidate line) {
        return collected(cells.cellsOf(line), metric(line), limit(line));
    }

    /** Returns the cells of the other direction of a row or column, without those that other causes explain. */
    Collected collectOther(Candidate line) {
        Candidate other = new Candidate(line.shape() == Shape.ROW ? Shape.COLUMN : Shape.ROW, line.a(), 0);
        Metric metric = metric(line);
        int[] open = Arrays.stream(cells.cellsOf(other))
                .filter(cell -> cells.covers[cell] == 0)
                .toArray();
        return collected(open, metric, metric == null ? 0 : -1.5 * metric.least);
    }

    /** Returns the cell of a path. */
    Collected collect(BadPath path) {
        return collected(new int[] {path.from() * cells.size + path.to()}, path.metric(), 0);
    }

    /** Returns the median of a metric over the good cells: those that no cause and no path explains. */
    double medianOfOthers(int m) {
        if (medians[m] == null) {
            boolean[] isBad = new boolean[cells.count()];
            paths.paths().forEach(path -> isBad[path.from() * cells.size + path.to()] = true);
            paths.unexplained().forEach(cell -> isBad[cell[0] * cells.size + cell[1]] = true);
            double[] some = new double[cells.count()];
            int count = 0;
            for (int cell = 0; cell < cells.count(); cell++) {
                if (cells.covers[cell] == 0 && cells.isKnown(cell) && !cells.isFailed(cell) && !isBad[cell]) {
                    float value = cells.rail.values[m][cells.line(cell)];
                    if (!Float.isNaN(value)) {
                        some[count++] = value;
                    }
                }
            }
            medians[m] = Quantiles.median(some, count);
        }
        return medians[m];
    }
}
