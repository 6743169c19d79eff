package io.rdmatest.report.culprits;

import java.util.Arrays;
import org.hipparchus.distribution.discrete.BinomialDistribution;
import org.jspecify.annotations.Nullable;

/**
 * Weighs the evidence of a candidate's cells. The effect of a candidate is the median of its cells. It is a cause only if the
 * effect is
 * <ul>
 *   <li>large in practice: at least {@link Metric#least};
 *   <li>large compared with the usual differences between rows, columns or blocks: {@value #SPREADS} times their robust spread;
 *   <li>significant: the logarithm of the likelihood ratio, summed over its cells, exceeds the bound that follows from {@value
 *       #FALSE_ALARMS} divided by the number of candidates and metrics. A cell counts at most {@value #CELL} for a cause and
 *       {@value #CELL_AGAINST} against it. So one outlier does not make a cause, and a cause is not named if a quarter of its
 *       cells contradict it;
 *   <li>rare by ranks alone: chance puts as many cells nearer to its median than to what is usual in a share of at most {@value
 *       #RARE} of clean matrices, whatever their noise is. Gross effects need not meet this condition.
 * </ul>
 */
final class Significance {

    /**
     * The evidence for a candidate.
     *
     * @param gain the logarithm of the likelihood ratio
     * @param metric the metric that shows the effect; null for failed cells
     * @param effect the median residual
     */
    record Score(double gain, @Nullable Metric metric, double effect) {

        /** No evidence. */
        static final Score NOTHING = new Score(Double.NEGATIVE_INFINITY, null, 0);
    }

    /** How many false causes a clean matrix has on average, if its noise is as the model assumes. */
    static final double FALSE_ALARMS = 1e-6;

    static final double SPREADS = 4.5;

    static final double CELL = 10;

    /** Metrics beside the clearest one count by this share, because what scatters in one of them also does in another. */
    private static final double OTHERS = 0.5;

    static final double CELL_AGAINST = 30;

    /** The share of clean matrices in which, by chance, any candidate has as many bad cells, judged by ranks alone. */
    static final double RARE = 1e-3;

    private final RailCells cells;

    private final double @Nullable [][] good = new double[Metric.ALL.length][];
    private boolean[] open = new boolean[0];

    private final Usual usual;

    Significance(RailCells cells, Usual usual) {
        this.cells = cells;
        this.usual = usual;
    }

    /**
     * Sets the cells that belong to no candidate with a sufficient score. They show the residuals of good cells, whatever the
     * distribution of the noise.
     */
    void learnFrom(boolean[] open) {
        Arrays.fill(good, null);
        this.open = open;
    }

    /** Returns residuals of good cells, sorted. */
    private double[] good(int m) {
        if (good[m] == null) {
            int step = usual.step();
            double[] some = new double[open.length / step + 1];
            int count = 0;
            for (int cell = 0; cell < open.length; cell += step) {
                if (open[cell] && cells.usable(usual.residual[m], cell)) {
                    some[count++] = usual.residual[m][cell];
                }
            }
            good[m] = Arrays.copyOf(some, count);
            Arrays.sort(good[m]);
        }
        return good[m];
    }

    /**
     * Returns whether chance would rarely put so many cells nearer to a candidate's median than to what is usual, if the
     * candidate's cells were drawn from the good ones. The result does not depend on the distribution of the noise.
     */
    boolean isRare(Score score, int[] itsCells) {
        Metric metric = score.metric();
        if (metric == null || -score.effect() > metric.gross() || good(metric.ordinal()).length == 0) {
            return true;
        }
        int of = 0;
        int bad = 0;
        for (int cell : itsCells) {
            boolean failed = cells.isFailed(cell);
            float value = usual.residual[metric.ordinal()][cell];
            if (cells.covers[cell] == 0 && (failed || !Float.isNaN(value))) {
                of++;
                bad += failed || value < score.effect() / 2 ? 1 : 0;
            }
        }
        double[] others = good(metric.ordinal());
        int at = Arrays.binarySearch(others, score.effect() / 2);
        double share = ((at < 0 ? -at - 1 : at) + 1) / (others.length + 2.0);
        double probability = 1 - new BinomialDistribution(of, share).cumulativeProbability(bad - 1);
        return probability < RARE / candidates();
    }

    private double candidates() {
        return 2.0 * cells.size + (cells.leaves > 1 ? cells.leaves * cells.leaves : 0);
    }

    /** Returns the least significance of a cause, as the logarithm of a likelihood ratio. */
    double bound() {
        return Math.log(candidates() * Metric.ALL.length / FALSE_ALARMS);
    }

    /**
     * Scores a candidate by the cells that no cause explains yet.
     *
     * @param leniency the share of the smallest effect that is enough: 1, or less if there is other evidence for the candidate
     */
    Score score(Candidate line, int[] itsCells, double leniency) {
        int failed = 0;
        int measured = 0;
        for (int cell : itsCells) {
            if (cells.covers[cell] == 0) {
                if (cells.isFailed(cell)) {
                    failed++;
                } else {
                    measured++;
                }
            }
        }
        if (failed + measured < 2) {
            return Score.NOTHING;
        }
        Score best = new Score(failed * CELL - measured * CELL_AGAINST, null, Double.NEGATIVE_INFINITY);
        if (failed == 0) {
            best = Score.NOTHING;
        }
        double[] gains = new double[Metric.ALL.length];
        for (Metric metric : Metric.ALL) {
            Score score = score(metric, line, itsCells, failed, leniency);
            gains[metric.ordinal()] = Math.max(0, score.gain());
            if (score.gain() > best.gain()) {
                best = score;
            }
        }
        Metric shown = best.metric();
        return shown == null ? best : new Score(best.gain() + OTHERS * others(gains, shown), shown, best.effect());
    }

    /** Returns what the metrics beside the clearest one say. The tail of the latency says nothing that its median does not. */
    private static double others(double[] gains, Metric shown) {
        double latency = Math.max(gains[Metric.LATENCY_P50.ordinal()], gains[Metric.LATENCY_P99.ordinal()]);
        return Arrays.stream(new Metric[] {Metric.BANDWIDTH, Metric.MESSAGE_RATE, Metric.COUNTERS})
                        .filter(metric -> metric != shown)
                        .mapToDouble(metric -> gains[metric.ordinal()])
                        .sum()
                + (shown.isLatency() ? 0 : latency);
    }

    private Score score(Metric metric, Candidate line, int[] itsCells, int failed, double leniency) {
        int m = metric.ordinal();
        float[] values = usual.residual[m];
        double[] some = new double[itsCells.length];
        int count = 0;
        for (int cell : itsCells) {
            if (cells.usable(values, cell)) {
                some[count++] = values[cell];
            }
        }
        if (count == 0) {
            return Score.NOTHING;
        }
        // Failed cells are worse than any measured one.
        double effect = Double.NEGATIVE_INFINITY;
        if (failed < count) {
            effect = Quantiles.of(some, count, Math.max(0, (count - failed) / 2.0 - 0.5) / Math.max(1, count - 1));
        }
        double least = leniency
                * Math.max(metric.least, SPREADS * usual.spread[m][line.shape().ordinal()]);
        if (-effect < least) {
            return Score.NOTHING;
        }
        double sigma = usual.noise[m];
        // A cell that is much worse than this is certainly bad, however bad the other cells are.
        double assumed = Math.max(effect, -Math.max(2 * metric.least, 5 * sigma));
        double gain = 0;
        for (int i = 0; i < count; i++) {
            double ratio = assumed * (some[i] - assumed / 2) / (sigma * sigma);
            gain += Math.max(-CELL_AGAINST, Math.min(CELL, ratio));
        }
        // A cell that failed was not measured: it counts for a metric only as much as those that were.
        return new Score(gain + Math.min(failed * CELL, Math.max(0, gain)), metric, effect);
    }

    /** Returns whether a single cell is bad. */
    boolean isBad(int cell) {
        if (cells.isFailed(cell)) {
            return true;
        }
        for (Metric metric : Metric.ALL) {
            int m = metric.ordinal();
            if (usual.residual[m][cell] < -Math.max(1.5 * metric.least, 5 * usual.noise[m])) {
                return true;
            }
        }
        return false;
    }
}
