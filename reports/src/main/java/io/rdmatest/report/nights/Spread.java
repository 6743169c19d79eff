package io.rdmatest.report.nights;

import io.rdmatest.report.culprits.Quantiles;
import java.util.Arrays;
import java.util.Collection;

/**
 * How values are distributed.
 *
 * @param min the least
 * @param lowerQuartile a quarter of the values is not above it
 * @param median the middle, or the mean of the two in the middle
 * @param upperQuartile a quarter of the values is not below it
 * @param max the greatest
 */
public record Spread(double min, double lowerQuartile, double median, double upperQuartile, double max) {

    /**
     * Computes the distribution; quartiles between two values are interpolated linearly.
     *
     * @param values at least one, in any order
     * @throws IllegalArgumentException if there is none, or one is not a finite number
     */
    public static Spread of(Collection<Double> values) {
        double[] all = values.stream().mapToDouble(Double::doubleValue).toArray();
        if (all.length == 0) {
            throw new IllegalArgumentException("Without a value there is no spread");
        }
        if (!Arrays.stream(all).allMatch(Double::isFinite)) {
            throw new IllegalArgumentException("A value is not a finite number: " + values);
        }
        return new Spread(at(all, 0), at(all, 0.25), at(all, 0.5), at(all, 0.75), at(all, 1));
    }

    private static double at(double[] values, double share) {
        return Quantiles.of(values, values.length, share);
    }
}
