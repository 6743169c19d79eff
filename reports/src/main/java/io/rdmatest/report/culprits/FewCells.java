package io.rdmatest.report.culprits;

import org.jspecify.annotations.Nullable;

/**
 * Level and scatter of the good cells of one metric on a rail with few cells, where a single bad node has up to two thirds of them
 * and moves every median. The levels of all single causes are fitted by least squares: of a port that sends, receives or does both
 * badly, and of one bad pair. The cause that leaves the least scatter counts if it does so by more than chance. Whether it is
 * named is not decided here.
 *
 * @param shift how much better good cells are than the level that was assumed, as a logarithm
 * @param sigma the standard deviation of cells about the fitted levels
 * @param freedom the degrees of freedom of that estimate, 1 or more
 * @param isOneCause whether one cause was fitted
 */
record FewCells(double shift, double sigma, double freedom, boolean isOneCause) {

    /** A cause is fitted if it is so many times more likely than none, as a logarithm, for each of its levels. */
    private static final double LEVEL = 3.5;

    /** Sums over the cells of one level. */
    private static final class Level {
        private int count;
        private double sum;
        private double squares;

        void add(double value) {
            count++;
            sum += value;
            squares += value * value;
        }

        double mean() {
            return count == 0 ? 0 : sum / count;
        }

        /** Returns the sum of the squared distances from the mean. */
        double left() {
            return count == 0 ? 0 : Math.max(0, squares - sum * sum / count);
        }
    }

    /** The port or the pair that a fit takes from the good cells: by its sender, its receiver, either, or both of them. */
    private enum Cause {
        NONE,
        SENDS,
        RECEIVES,
        BOTH,
        PAIR
    }

    /**
     * Fits the cells that no cause explains yet.
     *
     * @param cells the cells of the rail
     * @param m the metric, by its ordinal
     * @param assumed the assumed levels between leaves and within a leaf
     * @return null if there is no value
     */
    static @Nullable FewCells fit(RailCells cells, int m, double[] assumed) {
        Fit fit = new Fit(cells, m, assumed);
        fit.measure(Cause.NONE, 0, 0);
        if (fit.count == 0) {
            return null;
        }
        for (int a = 0; a < cells.size; a++) {
            fit.measure(Cause.SENDS, a, 0);
            fit.measure(Cause.RECEIVES, a, 0);
            fit.measure(Cause.BOTH, a, 0);
            for (int b = 0; b < cells.size; b++) {
                fit.measure(Cause.PAIR, a, b);
            }
        }
        return fit.best();
    }

    /** The best fit so far. */
    private static final class Fit {

        private final RailCells cells;
        private final int m;
        private final double[] assumed;
        private final boolean isZero;
        private int count;
        private double scatter;
        private double most;
        private double shift;
        private double left;
        private int used;
        private int levels;

        Fit(RailCells cells, int m, double[] assumed) {
            this.cells = cells;
            this.m = m;
            this.assumed = assumed;
            this.isZero = Metric.ALL[m] == Metric.COUNTERS;
        }

        void measure(Cause cause, int a, int b) {
            Level good = new Level();
            Level sent = new Level();
            Level received = new Level();
            for (int cell = 0; cell < cells.count(); cell++) {
                if (cells.usable(cells.raw[m], cell)) {
                    int from = cell / cells.size;
                    int to = cell % cells.size;
                    boolean ofSender = from == a
                            && (cause == Cause.SENDS || cause == Cause.BOTH || (cause == Cause.PAIR && to == b));
                    boolean ofReceiver = to == a && (cause == Cause.RECEIVES || cause == Cause.BOTH);
                    (ofSender ? sent : ofReceiver ? received : good)
                            .add(cells.raw[m][cell] - assumed[cells.withinLeaf(cell) ? 1 : 0]);
                }
            }
            // No error is the usual count of errors.
            double level = isZero ? -assumed[0] : good.mean();
            double goodLeft = isZero ? good.squares - 2 * level * good.sum + good.count * level * level : good.left();
            double all = Math.max(0, goodLeft) + sent.left() + received.left();
            int its = (sent.count > 0 ? 1 : 0) + (received.count > 0 ? 1 : 0);
            if (cause == Cause.NONE) {
                count = good.count;
                scatter = all;
                keep(level, isZero ? goodLeft : all, good.count, 0);
                return;
            }
            // What a slow port does in one metric may make it better in another: without a queue its latencies are low.
            boolean isWorse = cause == Cause.SENDS
                    || cause == Cause.RECEIVES
                    || ((sent.count == 0 || sent.mean() < level) && (received.count == 0 || received.mean() < level));
            double floor = count * Metric.ALL[m].noise * Metric.ALL[m].noise;
            double gain = count / 2.0 * Math.log((scatter + floor) / (all + floor)) - its * LEVEL;
            if (isWorse && its > 0 && good.count > 1 && gain > most) {
                most = gain;
                // Errors of bad cells scatter by themselves; good cells have none.
                keep(level, isZero ? goodLeft : all, isZero ? good.count : count, isZero ? 0 : its);
            }
        }

        private void keep(double level, double all, int of, int its) {
            shift = level;
            left = Math.max(0, all);
            used = of;
            levels = its;
        }

        FewCells best() {
            double freedom = Math.max(1, used - levels - (isZero ? 0 : 1));
            return new FewCells(shift, Math.sqrt(left / freedom), freedom, most > 0);
        }
    }
}
