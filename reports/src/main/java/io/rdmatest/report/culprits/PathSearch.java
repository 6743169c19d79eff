package io.rdmatest.report.culprits;

import io.rdmatest.report.culprits.Candidate.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.hipparchus.distribution.continuous.NormalDistribution;
import org.jspecify.annotations.Nullable;

/**
 * Finds single bad cells, after all larger causes are found. Such a cell failed, or its effect is beyond three limits: {@link
 * Metric#path}; the noise, which reaches it with a probability below {@value Significance#FALSE_ALARMS} divided by the number of
 * cells; and the tail of other lone outliers.
 */
final class PathSearch {

    /**
     * A bad path.
     *
     * @param from the sender, by its number on this rail
     * @param to the receiver
     * @param metric the metric that shows it; null if the cell failed
     */
    record BadPath(int from, int to, @Nullable Metric metric) {}

    /** The tail of the noise is extrapolated to the value that one good cell reaches in this number of rails. */
    private static final double RAILS = 1e6;

    /** Two metrics together make a path if each of them reaches this share of the effect that it needs alone. */
    private static final double TOGETHER = 0.8;

    /** The number of worst cells that may be paths: this many, or one in 100. */
    private static final int MAYBE_PATHS = 6;

    /** A rail with fewer cells, such as one with 16 nodes, does not show the tail of its noise. */
    private static final int FEW = 241;

    /** This many cells on one side of the usual value show its tail well. 35 nodes have as many. */
    private static final int MANY = 600;

    /** The largest power by which a tail is extrapolated beyond the part that is seen. */
    private static final double MOST_POWER = 5;

    private static final NormalDistribution NORMAL = new NormalDistribution();

    private final RailCells cells;
    private final Usual usual;
    private final CauseSearch causes;
    private final List<BadPath> paths = new ArrayList<>();
    private final List<int[]> unexplained = new ArrayList<>();

    PathSearch(RailCells cells, Usual usual, CauseSearch causes) {
        this.cells = cells;
        this.usual = usual;
        this.causes = causes;
    }

    List<BadPath> paths() {
        return List.copyOf(paths);
    }

    /** Returns whether another pair of a path's sender or receiver is bad as well, in whatever metric. */
    boolean isBadBeside(BadPath path) {
        return Stream.concat(
                        paths.stream().filter(other -> !other.equals(path)).map(other ->
                                new int[] {other.from(), other.to()}),
                        unexplained.stream())
                .anyMatch(other -> other[0] == path.from() || other[1] == path.to());
    }

    /** Returns sender and receiver of each bad cell that no cause explains. */
    List<int[]> unexplained() {
        return List.copyOf(unexplained);
    }

    /**
     * How much worse than expected cells are: in one metric, or in two metrics at once as a share of the smallest effects that
     * matter.
     */
    private final class Sign {

        private final Metric metric;
        private final @Nullable Metric with;
        private final float[] off;
        private final float[] offWith;

        /** The largest deviation of a good cell. */
        private double limit;

        Sign(Metric metric, float[] off) {
            this.metric = metric;
            this.with = null;
            this.off = off;
            this.offWith = off;
            limit = metric.path;
        }

        Sign(Sign one, Sign other) {
            metric = one.metric;
            with = other.metric;
            off = one.off;
            offWith = other.off;
            limit = TOGETHER;
        }

        double least() {
            return with == null ? metric.path : TOGETHER;
        }

        double worse(int cell) {
            return with == null ? off[cell] : Math.min(off[cell] / metric.path, offWith[cell] / with.path);
        }

        double better(int cell) {
            return with == null ? -off[cell] : -Math.max(off[cell] / metric.path, offWith[cell] / with.path);
        }

        /** Returns the standard deviation, if the noise is normal and independent between the metrics. */
        double sigma() {
            double one = usual.noise[metric.ordinal()];
            return with == null
                    ? one
                    : Math.max(one / metric.path, usual.noise[with.ordinal()] / with.path) / Math.sqrt(2);
        }

        boolean shows(int cell) {
            return worse(cell) > limit;
        }

        double times(int cell) {
            return worse(cell) / limit;
        }

        /** Returns the metric that shows the cell's deviation most clearly. */
        Metric shown(int cell) {
            return with == null || off[cell] / metric.path >= offWith[cell] / with.path ? metric : with;
        }

        boolean showsAny() {
            for (int cell = 0; cell < cells.count(); cell++) {
                if (shows(cell)) {
                    return true;
                }
            }
            return false;
        }
    }

    /** Finds paths and the cells that stay unexplained. It runs after the search for all other causes. */
    void run() {
        double far = -NORMAL.inverseCumulativeProbability(Significance.FALSE_ALARMS / Math.max(cells.known, 1));
        List<Sign> signs = signs(far);
        boolean[] suspect = new boolean[cells.count()];
        for (Sign sign : signs) {
            for (int cell = 0; cell < suspect.length; cell++) {
                suspect[cell] |= sign.shows(cell);
            }
        }
        signs.parallelStream()
                .forEach(sign -> sign.limit = Math.max(gross(sign), beyondLoneOutliers(sign, far, suspect)));
        int[] ofRow = new int[cells.size];
        int[] ofColumn = new int[cells.size];
        for (int cell = 0; cell < cells.count(); cell++) {
            if (cells.isKnown(cell)) {
                ofRow[cell / cells.size]++;
                ofColumn[cell % cells.size]++;
            }
        }
        for (int cell = 0; cell < cells.count(); cell++) {
            if (!cells.isKnown(cell)) {
                continue;
            }
            int a = cell / cells.size;
            int b = cell % cells.size;
            boolean separable = cells.size == 2 || (!cells.isAllFailed() && ofRow[a] > 1 && ofColumn[b] > 1);
            if (cells.isFailed(cell)) {
                if (separable && (cells.covers[cell] == 0 || !failureIsCovered(a, b))) {
                    paths.add(new BadPath(a, b, null));
                } else if (cells.covers[cell] == 0) {
                    unexplained.add(new int[] {a, b});
                }
                continue;
            }
            Sign best = null;
            for (Sign sign : signs) {
                if (sign.shows(cell) && (best == null || sign.times(cell) > best.times(cell))) {
                    best = sign;
                }
            }
            if (best != null && separable) {
                paths.add(new BadPath(a, b, best.shown(cell)));
            } else if (best != null || (cells.covers[cell] == 0 && (suspect[cell] || cells.isJudgedBad(cell)))) {
                unexplained.add(new int[] {a, b});
            }
        }
    }

    /** Returns the signs that show any bad cell, with limits that do not yet consider lone outliers. */
    private List<Sign> signs(double far) {
        double[][] rowEffects = effects(Shape.ROW);
        double[][] columnEffects = effects(Shape.COLUMN);
        Sign[] single = new Sign[Metric.ALL.length];
        Arrays.stream(Metric.ALL).parallel().forEach(metric -> {
            int m = metric.ordinal();
            float[] off = new float[cells.count()];
            for (int cell = 0; cell < off.length; cell++) {
                off[cell] = (float) -excess(m, cell, rowEffects[m], columnEffects[m]);
            }
            single[m] = new Sign(metric, off);
        });
        List<Sign> all = new ArrayList<>(List.of(single));
        for (Metric metric : Metric.ALL) {
            for (int with = metric.ordinal() + 1; with < Metric.ALL.length; with++) {
                all.add(new Sign(single[metric.ordinal()], single[with]));
            }
        }
        // Of several metrics of a few cells, the one that scatters least by chance is taken for less noisy than it is.
        double careful = cells.size > 2 && cells.known < Usual.FEW ? 1.25 : 1;
        List<Sign> some = all.parallelStream().filter(Sign::showsAny).toList();
        some.parallelStream()
                .forEach(sign -> sign.limit =
                        Math.max(Math.max(sign.limit, far * careful * sign.sigma()), tailOfNoise(sign, far)));
        return some;
    }

    /** Returns the limit of a gross effect if the rail has so few cells that only gross effects count; otherwise 0. */
    private double gross(Sign sign) {
        return cells.known >= FEW ? 0 : sign.with == null ? sign.metric.gross() : TOGETHER * Metric.GROSS;
    }

    /**
     * Returns the limit beyond the tail of lone outliers that are too weak for a path.
     *
     * @param suspect cells that do not count as such outliers, because another sign shows that they are bad
     */
    private double beyondLoneOutliers(Sign sign, double far, boolean[] suspect) {
        double least = sign.least();
        double begin = Math.max(least * 0.3, 4 * sign.sigma());
        // An outlier that is too weak by itself may also have noise on the worse side.
        double limit = Math.max(sign.limit, least + sign.sigma());
        if (begin >= limit) {
            return limit;
        }
        double[] outliers = new double[16];
        int count = 0;
        int weak = 0;
        double weakSum = 0;
        for (int cell = 0; cell < cells.count(); cell++) {
            double off = sign.worse(cell);
            if (cells.covers[cell] > 0 || !(off > begin)) {
                continue;
            }
            if (count == outliers.length) {
                outliers = Arrays.copyOf(outliers, 2 * count);
            }
            outliers[count++] = off;
            if (!suspect[cell]) {
                weak++;
                weakSum += off - begin;
            }
        }
        if (weak == 0) {
            return limit;
        }
        // Two assumed outliers are added, so that one or two real ones are enough for an estimate.
        double exponential = begin + (weakSum + 2 * 0.24 * least) / (weak + 2) * Math.log(100.0 * weak);
        if (count <= 50) {
            return Math.max(limit, exponential);
        }
        double[] sorted = Arrays.copyOf(outliers, count);
        Arrays.sort(sorted);
        int kept = count - 10;
        double quarter = sorted[kept * 3 / 4];
        double sum = 0;
        for (int i = kept * 3 / 4; i < kept; i++) {
            sum += sorted[i] - quarter;
        }
        double gap = sorted[kept - 1] + sum / (kept - kept * 3 / 4) * Math.log(100);
        return Math.max(limit, Math.min(exponential, gap));
    }

    /** Returns whether a cause of this cell also makes other cells fail. */
    private boolean failureIsCovered(int a, int b) {
        for (Candidate line : covering(a, b)) {
            for (int cell : cells.cellsOf(line)) {
                if (cell != a * cells.size + b && cells.isFailed(cell)) {
                    return true;
                }
            }
        }
        return false;
    }

    private List<Candidate> covering(int a, int b) {
        List<Candidate> all = new ArrayList<>();
        for (Candidate line : List.of(
                new Candidate(Shape.ROW, a, 0),
                new Candidate(Shape.COLUMN, b, 0),
                new Candidate(Shape.BLOCK, Math.max(0, cells.leaf[a]), Math.max(0, cells.leaf[b])))) {
            if (causes.isFound(line) && (line.shape() != Shape.BLOCK || (cells.leaf[a] >= 0 && cells.leaf[b] >= 0))) {
                all.add(line);
            }
        }
        return all;
    }

    /** Returns the medians of rows or columns over the cells that no cause explains; at most 0. */
    private double[][] effects(Shape shape) {
        double[][] effects = new double[Metric.ALL.length][];
        for (int m = 0; m < Metric.ALL.length; m++) {
            effects[m] = usual.medians(m, shape, null);
            for (int port = 0; port < cells.size; port++) {
                // With few cells the cell in question decides the median.
                boolean few = cells.size < 6 || countOf(shape, port, m) < 5;
                effects[m][port] = few || Double.isNaN(effects[m][port]) ? 0 : Math.min(0, effects[m][port]);
            }
        }
        return effects;
    }

    /** Returns how many cells of a row or column nothing explains, at most 5. */
    private int countOf(Shape shape, int port, int m) {
        int count = 0;
        for (int other = 0; other < cells.size && count < 5; other++) {
            int cell = shape == Shape.ROW ? port * cells.size + other : other * cells.size + port;
            count += cells.usable(usual.residual[m], cell) ? 1 : 0;
        }
        return count;
    }

    /** Returns how much better than expected a cell is. If causes explain the cell, the sum of their effects is expected. */
    private double excess(int m, int cell, double[] rowEffects, double[] columnEffects) {
        int a = cell / cells.size;
        int b = cell % cells.size;
        double off = usual.residual[m][cell] - rowEffects[a] - columnEffects[b];
        if (cells.covers[cell] == 0 || Double.isNaN(off)) {
            return off;
        }
        double expected = 0;
        for (Candidate line : covering(a, b)) {
            expected += Math.min(0, typical(m, line));
        }
        // The worst cells of a cause are worse than its median.
        return off - expected + Math.log(2);
    }

    private final Map<Candidate, double[]> typicals = new ConcurrentHashMap<>();

    private double typical(int m, Candidate line) {
        return typicals.computeIfAbsent(line, l -> {
            double[] lows = new double[Metric.ALL.length];
            int[] its = cells.cellsOf(l);
            double[] some = new double[its.length];
            for (int metric = 0; metric < Metric.ALL.length; metric++) {
                int count = 0;
                for (int cell : its) {
                    if (!Float.isNaN(usual.residual[metric][cell])) {
                        some[count++] = usual.residual[metric][cell];
                    }
                }
                // A tenth of a cause's cells are worse than this. If only a part of the cells is bad, the value is one
                // of that part.
                double low = Quantiles.of(some, count, 0.1);
                lows[metric] = Double.isNaN(low) ? 0 : low;
            }
            return lows;
        })[m];
    }

    /**
     * Returns the largest deviation of a good cell, from the tails of the noise. The better side shows only noise, because causes
     * only make cells worse. On the worse side, the worst cells are left out, because they may be paths.
     *
     * @param far the limit for normal noise, in standard deviations
     */
    private double tailOfNoise(Sign sign, double far) {
        double[] better = new double[cells.count()];
        double[] worse = new double[cells.count()];
        int betterCount = 0;
        int worseCount = 0;
        for (int cell = 0; cell < cells.count(); cell++) {
            if (cells.covers[cell] == 0) {
                if (sign.better(cell) > 0) {
                    better[betterCount++] = sign.better(cell);
                }
                if (sign.worse(cell) > 0) {
                    worse[worseCount++] = sign.worse(cell);
                }
            }
        }
        return Math.max(tail(better, betterCount, far), tail(worse, worseCount, far));
    }

    /**
     * Extrapolates a tail from its nearer quarter to the value that one cell in {@link #RAILS} rails reaches. It does so in two
     * ways. The first assumes that the deviation in standard deviations grows as a power of the share of worse cells. That fits
     * Student's distribution, and is too much for others. The second assumes that the value grows as a power of the logarithm of
     * that share. That fits a normal and an exponential distribution, and is too little for others. The result is the geometric
     * mean of both.
     *
     * @param some the deviations of the cells on one side
     * @param count the number of deviations; if there are too few for an estimate, the result is 0
     * @param far the limit for normal noise, in standard deviations
     */
    private static double tail(double[] some, int count, double far) {
        if (count < FEW / 6) {
            return 0;
        }
        int many = count / 4;
        int top = count < FEW / 2 ? MAYBE_PATHS / 2 : Math.max(MAYBE_PATHS, count / 100);
        double near = Quantiles.of(some, count, (count - many) / (count - 1.0));
        double value = Quantiles.of(some, count, (count - top) / (count - 1.0));
        if (near <= 0) {
            return value;
        }
        double expectedNear = NORMAL.inverseCumulativeProbability(1 - many / (2.0 * count));
        double expected = NORMAL.inverseCumulativeProbability(1 - top / (2.0 * count));
        // The farther value has an error. It counts in favour of a path only if there are many cells.
        double error = count < MANY ? 0 : 1 / (expected * expected * Math.sqrt(top));
        double longer = Math.max(1, value / expected / (near / expectedNear) * Math.exp(-error));
        double power = Math.min(MOST_POWER, Math.log(RAILS * top) / Math.log((double) many / top));
        double byDeviations = value * Math.pow(longer, power) * Math.max(1, far / expected);
        double seen = Math.log((double) count / top);
        double growth = Math.log(value / near) / Math.log(seen / Math.log((double) count / many));
        double byShare = value * Math.pow(Math.log(RAILS * count) / seen, growth);
        return Math.sqrt(byDeviations * byShare);
    }
}
