package io.rdmatest.report.culprits;

import java.util.Arrays;
import org.hipparchus.util.KthSelector;

/** Quantiles of parts of arrays; those between two values are interpolated linearly. */
public final class Quantiles {

    /** The factor that converts a median absolute deviation to the standard deviation of a normal distribution. */
    static final double MAD_TO_SIGMA = 1.4826;

    private static final KthSelector SELECTOR = new KthSelector();

    private Quantiles() {}

    /**
     * Returns the value below which a share of the first values lies.
     *
     * @param values are not changed
     * @param count the number of values that count; if it is 0, the result is NaN
     * @param share 0 to 1
     */
    public static double of(double[] values, int count, double share) {
        if (count == 0) {
            return Double.NaN;
        }
        double[] work = Arrays.copyOf(values, count);
        double at = share * (count - 1);
        int below = (int) Math.floor(at);
        double low = SELECTOR.select(work, null, below);
        if (at == below) {
            return low;
        }
        double high = SELECTOR.select(work, null, below + 1);
        double between = low + (at - below) * (high - low);
        // Values may be infinite.
        return Double.isNaN(between) ? low : between;
    }

    /** Returns the median of all values; NaN if there is none. */
    public static double median(double[] values) {
        return median(values, values.length);
    }

    /** Returns the median of the first values. */
    static double median(double[] values, int count) {
        return of(values, count, 0.5);
    }

    /** Returns a robust standard deviation of the first values around their median. */
    static double spread(double[] values, int count) {
        double median = median(values, count);
        double[] deviations = new double[count];
        for (int i = 0; i < count; i++) {
            deviations[i] = Math.abs(values[i] - median);
        }
        return MAD_TO_SIGMA * median(deviations, count);
    }
}
