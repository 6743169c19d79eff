package io.rdmatest.report.culprits;

import io.rdmatest.report.culprits.Candidate.Shape;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.hipparchus.distribution.continuous.NormalDistribution;
import org.hipparchus.distribution.continuous.TDistribution;
import org.hipparchus.util.ArithmeticUtils;
import org.jspecify.annotations.Nullable;

/**
 * Estimates the usual values of a rail and the scatter of its cells. A cell's residual is its distance from the usual value, and
 * for a latency of few round trips a part of it.
 * Pairs within one leaf and pairs between leaves have different usual values. The noise is computed from the median absolute
 * deviation of the residuals after the medians of rows and columns are subtracted. Cells that a cause explains don't count.
 */
final class Usual {

    /** This many cells are enough to estimate the usual value and the scatter. */
    private static final int ENOUGH_CELLS = 200_000;

    /** This many cells are enough for the median of a row or column. */
    private static final int ENOUGH_OF_LINE = 250;

    /** Fewer cells are not enough for medians and for a good estimate of the noise: {@link FewCells} fits them. */
    static final int FEW = 60;

    /** The least noise of few cells, before its uncertainty. */
    private static final double LEAST_OF_FEW = 0.04;

    /** The noise of a rail's other metrics counts as much as so many cells beyond those that the levels take. */
    private static final double WEIGHT_OF_OTHERS = 8;

    /**
     * Up to this number of nodes, the search also considers that most cells are bad, so that the good level is not the median.
     */
    private static final int SMALL = 200;

    /** The largest factor of uncertainty: with few cells, only gross differences are named anyway. */
    private static final double MOST_UNCERTAIN = 4;

    private final RailCells cells;

    /** How much better than usual each cell is, as a logarithm, by metric and cell; a latency of few round trips counts less. */
    final float[][] residual;

    /** The standard deviation of good cells, by metric. */
    final double[] noise = new double[Metric.ALL.length];

    /** The usual spread among rows, columns and blocks, by metric and shape. */
    final double[][] spread = new double[Metric.ALL.length][Shape.values().length];

    private final double[][] usual = new double[Metric.ALL.length][2];

    /** The estimated medians of rows and columns, by metric and port. */
    private final double[][] rowMedians = new double[Metric.ALL.length][];

    private final double[][] columnMedians = new double[Metric.ALL.length][];

    /** The estimated medians of blocks, by metric and number of the block. */
    private final double[][] blockMedians = new double[Metric.ALL.length][];

    /** Only each cell whose number is a multiple of this is used for estimates. */
    private final int step;

    Usual(RailCells cells) {
        this.cells = cells;
        residual = new float[Metric.ALL.length][cells.count()];
        step = stepOf(cells);
    }

    /** Returns a step that has no common divisor with the number of ports, so that it covers all rows and columns. */
    private static int stepOf(RailCells cells) {
        int every = Math.max(1, cells.count() / ENOUGH_CELLS);
        while (every > 1 && ArithmeticUtils.gcd(every, cells.size) != 1) {
            every++;
        }
        return every;
    }

    /** Returns the step between the cells that are used for estimates: their numbers are multiples of it. */
    int step() {
        return step;
    }

    /**
     * Returns how much better than usual a line outside of the matrix is.
     *
     * @param cell the cell of its sender and receiver
     */
    double residual(Metric metric, PairLine line, int cell) {
        double off = cells.logarithm(metric, line) - usual[metric.ordinal()][cells.withinLeaf(cell) ? 1 : 0];
        return metric.isLatency() ? off * PairMatrix.weight(line.samples()) : off;
    }

    /** Estimates usual values, noise and spread from the cells that no cause explains. */
    void estimate() {
        FewCells[] few = new FewCells[Metric.ALL.length];
        IntStream.range(0, few.length).parallel().forEach(m -> {
            boolean isHigh = estimateUsual(m);
            FewCells fit = cells.known < FEW && cells.size > 2 ? FewCells.fit(cells, m, usual[m]) : null;
            // Of six nodes and more, several may be bad.
            few[m] = fit == null || (isHigh && (!fit.isOneCause() || cells.size > 5)) ? null : fit;
        });
        IntStream.range(0, few.length).parallel().forEach(m -> estimate(m, few));
    }

    private void estimate(int m, @Nullable FewCells[] few) {
        FewCells fit = few[m];
        if (fit != null) {
            usual[m][0] += fit.shift();
            usual[m][1] += fit.shift();
        }
        float[] values = cells.raw[m];
        float[] less = residual[m];
        for (int cell = 0; cell < values.length; cell++) {
            less[cell] = Float.isNaN(values[cell])
                    ? Float.NaN
                    : (float) (values[cell] - usual[m][cells.withinLeaf(cell) ? 1 : 0])
                            * cells.weight(Metric.ALL[m], cell);
        }
        rowMedians[m] = medians(m, Shape.ROW, null);
        columnMedians[m] = medians(m, Shape.COLUMN, null);
        noise[m] = Math.max(fit == null ? estimateNoise(m) : estimateNoise(m, few), Metric.ALL[m].noise);
        for (Shape shape : Shape.values()) {
            spread[m][shape.ordinal()] = estimateSpread(m, shape);
        }
    }

    /** Returns whether the better level is the usual one, because several causes explain that most cells are worse. */
    private boolean estimateUsual(int m) {
        double[] some = new double[cells.count() / step + 1];
        double[] medians = new double[2];
        double[] highs = new double[2];
        int[] counts = new int[2];
        for (int within = 0; within < 2; within++) {
            int count = 0;
            for (int cell = 0; cell < cells.count(); cell += step) {
                if (cells.covers[cell] == 0
                        && !Float.isNaN(cells.raw[m][cell])
                        && cells.withinLeaf(cell) == (within == 1)) {
                    some[count++] = cells.raw[m][cell];
                }
            }
            counts[within] = count;
            if (count > 0) {
                medians[within] = level(some, count, 0.5);
                highs[within] = cells.size > SMALL ? medians[within] : level(some, count, 0.85);
            }
        }
        for (int within = 0; within < 2; within++) {
            // Few cells are not enough for a usual value, unless there are no others.
            if (counts[within] < 6 && counts[1 - within] > counts[within]) {
                medians[within] = within == 1 ? medians[0] : Math.min(medians[0], medians[1]);
                highs[within] = within == 1 ? highs[0] : Math.min(highs[0], highs[1]);
            }
        }
        boolean high = highs[0] - medians[0] > 0.12 || highs[1] - medians[1] > 0.12;
        boolean isHigh = high && (cells.size == 2 || linesExplain(m, medians, highs));
        usual[m] = isHigh ? highs : medians;
        return isHigh;
    }

    /** Returns the median of the values near a quantile of the first ones. */
    private static double level(double[] some, int count, double share) {
        double center = Quantiles.of(some, count, share);
        double[] near = new double[count];
        int nearCount = 0;
        for (int i = 0; i < count; i++) {
            if (Math.abs(some[i] - center) <= 0.3) {
                near[nearCount++] = some[i];
            }
        }
        return nearCount == 0 ? center : Quantiles.median(near, nearCount);
    }

    /**
     * Returns whether most cells are bad, and whole rows, columns and blocks explain them. If not, some pairs have the better
     * level by design.
     */
    private boolean linesExplain(int m, double[] medians, double[] highs) {
        boolean[] open = new boolean[cells.count()];
        boolean[] bad = new boolean[cells.count()];
        int left = 0;
        int badLeft = 0;
        for (int cell = 0; cell < cells.count(); cell++) {
            if (cells.isKnown(cell) && cells.covers[cell] == 0) {
                int within = cells.withinLeaf(cell) ? 1 : 0;
                double least = Math.min(0.3, Math.max(0.06, (highs[within] - medians[within]) / 2));
                open[cell] = cells.isFailed(cell) || !Float.isNaN(cells.raw[m][cell]);
                bad[cell] = open[cell] && (cells.isFailed(cell) || cells.raw[m][cell] < highs[within] - least);
                left += open[cell] ? 1 : 0;
                badLeft += bad[cell] ? 1 : 0;
            }
        }
        int all = left;
        List<Candidate> lines = cells.candidates();
        while (true) {
            Candidate best = null;
            int most = 1;
            int mostOpen = 0;
            for (Candidate line : lines) {
                int lineBad = 0;
                int lineOpen = 0;
                for (int a : cells.senders(line)) {
                    for (int b : cells.receivers(line)) {
                        int cell = a * cells.size + b;
                        lineOpen += open[cell] ? 1 : 0;
                        lineBad += bad[cell] && open[cell] ? 1 : 0;
                    }
                }
                if (lineBad > most && lineBad >= 0.9 * lineOpen) {
                    best = line;
                    most = lineBad;
                    mostOpen = lineOpen;
                }
            }
            if (best == null) {
                return badLeft <= 0.1 * left && left >= Math.max(2, all / 10) && areOfSeveral(open);
            }
            for (int a : cells.senders(best)) {
                for (int b : cells.receivers(best)) {
                    open[a * cells.size + b] = false;
                }
            }
            left -= mostOpen;
            badLeft -= most;
        }
    }

    /**
     * Returns whether cells have at least two senders and two receivers. The good cells of a single port do not show what is
     * usual.
     */
    private boolean areOfSeveral(boolean[] some) {
        int sender = -1;
        int receiver = -1;
        boolean senders = false;
        boolean receivers = false;
        for (int cell = 0; cell < some.length; cell++) {
            if (some[cell]) {
                senders |= sender >= 0 && sender != cell / cells.size;
                receivers |= receiver >= 0 && receiver != cell % cells.size;
                sender = cell / cells.size;
                receiver = cell % cells.size;
            }
        }
        return senders && receivers;
    }

    /** Returns the noise that is left when the medians of rows and columns are taken off. */
    private double estimateNoise(int m) {
        float[] values = residual[m];
        double[] some = new double[cells.count() / step + 1];
        double[] rows = rowMedians[m];
        double[] columns = medians(m, Shape.COLUMN, rows);
        int count = 0;
        for (int cell = 0; cell < cells.count(); cell += step) {
            if (cells.usable(values, cell)) {
                some[count++] = Math.abs(values[cell] - rows[cell / cells.size] - columns[cell % cells.size]);
            }
        }
        double measured = (double) count * step;
        if (count == 0) {
            return 0;
        }
        double freedom = Math.max(measured - 2.0 * cells.size + 1, 1);
        double sigma = Quantiles.MAD_TO_SIGMA * Quantiles.median(some, count) * Math.sqrt(measured / freedom);
        if (measured >= FEW) {
            return sigma * uncertainty(freedom);
        }
        // Few cells show their scatter badly, and a single cell moves the medians of its row and column.
        count = 0;
        for (int cell = 0; cell < cells.count(); cell++) {
            if (cells.usable(values, cell)) {
                some[count++] = Math.abs(values[cell]);
            }
        }
        sigma = Math.min(sigma, Quantiles.MAD_TO_SIGMA * Quantiles.median(some, count));
        return Math.max(LEAST_OF_FEW, sigma) * uncertainty(freedom);
    }

    /**
     * Returns the noise of a metric of few cells. The scatter of so few is known badly, so that the other metrics of the same rail
     * count as well: all of them scatter by what the hosts do. Counters don't, which are zero on a good rail.
     */
    private static double estimateNoise(int m, @Nullable FewCells[] few) {
        FewCells its = Objects.requireNonNull(few[m]);
        if (Metric.ALL[m] == Metric.COUNTERS) {
            return its.sigma() * uncertainty(its.freedom());
        }
        double[] others = IntStream.range(0, few.length)
                .filter(other -> other != m && Metric.ALL[other] != Metric.COUNTERS)
                .mapToObj(other -> few[other])
                .filter(Objects::nonNull)
                .mapToDouble(FewCells::sigma)
                .toArray();
        double freedom = its.freedom();
        double sigma = Math.max(LEAST_OF_FEW, its.sigma());
        if (others.length > 0) {
            double usualOfOthers = Math.max(LEAST_OF_FEW, Quantiles.median(others));
            sigma = Math.sqrt((freedom * sigma * sigma + WEIGHT_OF_OTHERS * usualOfOthers * usualOfOthers)
                    / (freedom + WEIGHT_OF_OTHERS));
            freedom += WEIGHT_OF_OTHERS;
        }
        return sigma * uncertainty(freedom);
    }

    /**
     * Returns the factor by which the deviations of good cells may be larger because their scatter is only an estimate: by
     * Student's distribution instead of the normal one.
     *
     * @param freedom the degrees of freedom, 1 or more
     */
    private static double uncertainty(double freedom) {
        if (freedom > 300) {
            return 1;
        }
        double estimated = new TDistribution(freedom).inverseCumulativeProbability(Significance.FALSE_ALARMS);
        double known = new NormalDistribution().inverseCumulativeProbability(Significance.FALSE_ALARMS);
        return Math.min(MOST_UNCERTAIN, estimated / known);
    }

    /**
     * Returns the medians of rows or columns, by port; NaN for a port without a cell that counts.
     *
     * @param less what is subtracted from each cell, by its row or column; null for nothing
     */
    double[] medians(int m, Shape shape, double @Nullable [] less) {
        double[] medians = new double[cells.size];
        double[] some = new double[cells.size];
        int every = Math.max(1, cells.size / ENOUGH_OF_LINE);
        for (int port = 0; port < cells.size; port++) {
            int count = 0;
            for (int other = port % every; other < cells.size; other += every) {
                int cell = shape == Shape.ROW ? port * cells.size + other : other * cells.size + port;
                if (cells.usable(residual[m], cell)) {
                    some[count++] = residual[m][cell] - (less == null ? 0 : less[other]);
                }
            }
            medians[port] = Quantiles.median(some, count);
        }
        return medians;
    }

    /** Returns the spread among the candidates of a shape, beyond what the noise of their cells explains. */
    private double estimateSpread(int m, Shape shape) {
        double[] medians;
        double of;
        if (shape == Shape.BLOCK) {
            medians = new double[cells.leaves * cells.leaves];
            blockMedians[m] = new double[cells.leaves * cells.leaves];
            int blocks = 0;
            double inverse = 0;
            for (Candidate line : cells.candidates(shape)) {
                double[] some = new double[cells.senders(line).length * cells.receivers(line).length];
                int count = 0;
                for (int a : cells.senders(line)) {
                    for (int b : cells.receivers(line)) {
                        if (cells.usable(residual[m], a * cells.size + b)) {
                            some[count++] = residual[m][a * cells.size + b];
                        }
                    }
                }
                double median = Quantiles.median(some, count);
                blockMedians[m][line.a() * cells.leaves + line.b()] = median;
                if (count > 0) {
                    medians[blocks++] = median;
                    inverse += 1.0 / count;
                }
            }
            medians = Arrays.copyOf(medians, blocks);
            of = blocks / inverse;
        } else {
            medians = Arrays.stream((shape == Shape.ROW ? rowMedians : columnMedians)[m])
                    .filter(each -> !Double.isNaN(each))
                    .toArray();
            of = Math.min(cells.size, ENOUGH_OF_LINE)
                    * (double) cells.known
                    / Math.max(1, cells.size * (cells.size - 1.0));
        }
        if (medians.length < 6) {
            return 0;
        }
        double all = Quantiles.spread(medians, medians.length);
        double byNoise = Math.PI / 2 * noise[m] * noise[m] / of;
        return Math.sqrt(Math.max(0, all * all - byNoise)) * (1 + 4.0 / medians.length);
    }

    /** Returns whether a row, column or block is so near to the usual value that its cells need not be examined one by one. */
    boolean isUsual(Candidate line) {
        if (cells.size < 2 * ENOUGH_OF_LINE || cells.failedOf(line) > 0) {
            return false;
        }
        for (Metric metric : Metric.ALL) {
            double median = switch (line.shape()) {
                case ROW -> rowMedians[metric.ordinal()][line.a()];
                case COLUMN -> columnMedians[metric.ordinal()][line.a()];
                case BLOCK -> blockMedians[metric.ordinal()][line.a() * cells.leaves + line.b()];
            };
            // If there is no median, all cells are explained. The median is an estimate that may be wrong by some
            // percent.
            if (Double.isNaN(median) ? cells.has[metric.ordinal()] : median < -0.5 * metric.least) {
                return false;
            }
        }
        return true;
    }
}
