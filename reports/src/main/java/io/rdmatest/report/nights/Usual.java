package io.rdmatest.report.nights;

import io.rdmatest.Measurement;
import io.rdmatest.Measurement.Better;
import io.rdmatest.Measurement.Kind;
import io.rdmatest.report.culprits.Quantiles;
import io.rdmatest.report.nights.QualificationComparison.Change;
import java.util.Arrays;
import java.util.List;

/**
 * Judges a measurement by the measurements of earlier runs.
 *
 * <p>Costs stand for values: a larger cost is worse. The cost of times and rates is a logarithm, because their noise is
 * relative. A time or a rate of 0 means that nothing was measured, and costs more than any other.
 */
final class Usual {

    /** With this many earlier runs, one of them may have been as bad without hiding that this run is bad as well. */
    private static final int RUNS_WITH_AN_OUTLIER = 10;

    /** From this many earlier runs on, their median absolute deviation shows their scatter. */
    private static final int RUNS_WITH_A_SPREAD = 5;

    /** By how many robust standard deviations a value may differ from the median. */
    private static final double MOST_DEVIATIONS = 5;

    /** Turns the median absolute deviation of normal noise into its standard deviation. */
    private static final double NORMAL = 1.4826;

    /**
     * If values are of two kinds, their median absolute deviation is almost the distance between the kinds. So the spread is
     * limited to this many times the distance from the median to the most extreme earlier value.
     */
    private static final double MOST_DISTANCES = 3;

    /** The least statistic of the Mann-Kendall test that is a trend: chance makes it once in 15,000 times. */
    private static final double LEAST_TREND = 4;

    /** How many values each end of a trend has at least. */
    private static final int LEAST_END = 5;

    /**
     * A single step of this share of the whole change is no drift. It is the difference of the medians of five values on both
     * sides.
     */
    private static final double MOST_STEP = 0.75;

    /** The number of samples that must lie beyond a percentile, or be in a mean, to make it steady. */
    private static final long STEADY = 10;

    private static final double COST_OF_NOTHING = 1000;

    private final Measurement like;
    private final double most;

    /**
     * Prepares to judge values of a measurement.
     *
     * @param like one of them; its number of samples is that of the value that has the fewest
     * @param tolerance by which share a steady measurement may be worse
     */
    Usual(Measurement like, double tolerance) {
        this.like = like;
        this.most = most(like, tolerance);
    }

    /**
     * Returns the least change of costs that counts. Medians and rates may differ by the tolerance. Other percentiles move more
     * from run to run, and may differ by five times the tolerance. If only a few samples determine them, only a change by a
     * factor of ten counts. Maxima and single times of one run say little about the next run: only a change by a factor of a
     * hundred counts.
     */
    private static double most(Measurement like, double tolerance) {
        double wide = 1 + 5 * tolerance;
        Double percentile = like.percentile();
        if (percentile != null && percentile != 50) {
            boolean few = percentile > 50 && Measurement.samplesBeyond(like.samples(), percentile) < STEADY;
            return Math.log(percentile == 100 ? Math.max(100, wide) : few ? Math.max(10, wide) : wide);
        }
        if (like.kind() == Kind.DURATION) {
            return Math.log(Math.max(like.samples() < STEADY ? 100 : 10, wide));
        }
        return like.kind() == Kind.COUNT ? tolerance : Math.log(1 + tolerance);
    }

    private double cost(double value) {
        boolean lower = like.better() == Better.LOWER;
        if (like.kind() == Kind.COUNT) {
            return lower ? value : -value;
        }
        return value <= 0 ? COST_OF_NOTHING : lower ? Math.log(value) : -Math.log(value);
    }

    /**
     * Returns whether a value can be judged by earlier ones: they were not usually 0, unless it is a count.
     *
     * @param earlier at least one
     */
    boolean canJudgeBy(List<Double> earlier) {
        return costs(earlier).median() < COST_OF_NOTHING;
    }

    private Spread costs(List<Double> values) {
        return Spread.of(values.stream().map(this::cost).toList());
    }

    /**
     * Returns which way a value differs from what is usual.
     *
     * @param earlier the values of the earlier runs, at least one
     * @param now the value
     */
    Change change(List<Double> earlier, double now) {
        double median = costs(earlier).median();
        double change = cost(now) - median;
        double sign = Math.signum(change);
        double[] distances = earlier.stream()
                .mapToDouble(each -> sign * (cost(each) - median))
                .sorted()
                .toArray();
        // The distance of the most extreme earlier value on the same side. With many runs it is the second most
        // extreme, because one run may have been bad.
        double reached = distances[distances.length - (earlier.size() < RUNS_WITH_AN_OUTLIER ? 1 : 2)];
        double floor = floor(median);
        double least = floor;
        if (earlier.size() >= RUNS_WITH_A_SPREAD) {
            double deviation = Spread.of(earlier.stream()
                            .map(each -> Math.abs(cost(each) - median))
                            .toList())
                    .median();
            // If two kinds of values are usual, a value that only just exceeds one of them is not a third kind.
            reached += floor / 2;
            least = Math.max(
                    floor,
                    Math.min(MOST_DEVIATIONS * NORMAL * deviation, MOST_DISTANCES * distances[distances.length - 1]));
        }
        // Rounding of logarithms is no change.
        if (Math.abs(change) <= Math.max(least, reached) + 1e-9) {
            return Change.OTHER;
        }
        return change > 0 ? Change.WORSE : Change.BETTER;
    }

    /**
     * Returns the least change of a count that matters. Counts of rare events scatter by the square root of the usual count, and
     * a few events do not matter even if none is usual.
     */
    private double floor(double median) {
        if (like.kind() != Kind.COUNT) {
            return most;
        }
        double usual = Math.abs(median);
        return Math.max(most * usual, 5 * Math.sqrt(Math.max(usual, 1)));
    }

    /**
     * The ends of a trend.
     *
     * @param change which way it goes
     * @param oldest the median of the oldest values
     * @param newest the median of the newest ones
     */
    record Drift(Change change, double oldest, double newest) {}

    /**
     * Returns whether values drift: the newest quarter differs from the oldest one by more than a single value may, the
     * values between them rise or fall on the whole, and the last value is nearer to the newest quarter than to the oldest one.
     *
     * @param values all of them, the oldest first
     */
    Drift drift(List<Double> values) {
        return drift(values, most, LEAST_TREND);
    }

    /**
     * Returns whether values drift, as {@link #drift(List)} does, with stricter limits.
     *
     * @param values all of them, the oldest first
     * @param least the least change of costs that counts, if it is above that of a single value
     * @param leastTrend the least statistic of the Mann-Kendall test that is a trend
     */
    Drift drift(List<Double> values, double least, double leastTrend) {
        int end = end(values.size());
        if (like.kind() == Kind.COUNT || most >= Math.log(10) || values.size() < 2 * end) {
            return new Drift(Change.OTHER, 0, 0);
        }
        List<Double> oldest = values.subList(0, end);
        List<Double> newest = values.subList(values.size() - end, values.size());
        double before = costs(oldest).median();
        double change = costs(newest).median() - before;
        // After a repair, the newest values as a whole are bad for some nights more.
        boolean isOver = (cost(values.getLast()) - before) * Math.signum(change) <= Math.abs(change) / 2;
        Change way = isOver || Math.abs(change) <= Math.max(most, least) || Math.abs(trend(values)) < leastTrend
                ? Change.OTHER
                : change > 0 ? Change.WORSE : Change.BETTER;
        return new Drift(way, Spread.of(oldest).median(), Spread.of(newest).median());
    }

    /** Returns how many values each end of a trend has. */
    static int end(int values) {
        return Math.max(LEAST_END, values / 4);
    }

    /**
     * Returns whether values do not drift, but made most of their change in one step, which was reported when it occurred.
     *
     * @param values all of them, the oldest first
     */
    boolean isStep(List<Double> values) {
        double[] costs = values.stream().mapToDouble(this::cost).toArray();
        int end = end(costs.length);
        double way = median(costs, costs.length - end, end) - median(costs, 0, end);
        for (int at = LEAST_END; at <= costs.length - LEAST_END; at++) {
            double step = median(costs, at, LEAST_END) - median(costs, at - LEAST_END, LEAST_END);
            if (step * Math.signum(way) >= MOST_STEP * Math.abs(way)) {
                return true;
            }
        }
        return false;
    }

    private static double median(double[] values, int from, int count) {
        return Quantiles.median(Arrays.copyOfRange(values, from, from + count));
    }

    /** Returns the statistic of the Mann-Kendall test, which is normal where there is no trend. */
    private static double trend(List<Double> values) {
        int n = values.size();
        long sum = 0;
        long ties = 0;
        for (int i = 0; i < n; i++) {
            long same = 0;
            for (int j = 0; j < n; j++) {
                int order = Double.compare(values.get(j), values.get(i));
                sum += j > i ? order : 0;
                same += order == 0 ? 1 : 0;
            }
            // Each of the t values that are the same adds a t-th of t (t - 1) (2 t + 5).
            ties += (same - 1) * (2 * same + 5);
        }
        double variance = (n * (n - 1.0) * (2 * n + 5) - ties) / 18;
        return variance <= 0 ? 0 : (sum - Math.signum(sum)) / Math.sqrt(variance);
    }
}
