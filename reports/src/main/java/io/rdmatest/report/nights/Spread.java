package io.rdmatest.report.nights;

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
        double[] sorted =
                values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
        if (sorted.length == 0) {
            throw new IllegalArgumentException("Without a value there is no spread");
        }
        if (!Arrays.stream(sorted).allMatch(Double::isFinite)) {
            throw new IllegalArgumentException("A value is not a finite number: " + values);
        }
        return new Spread(sorted[0], at(sorted, 0.25), at(sorted, 0.5), at(sorted, 0.75), sorted[sorted.length - 1]);
    }

    private static double at(double[] sorted, double share) {
        double place = share * (sorted.length - 1);
        int below = (int) place;
        int above = Math.min(below + 1, sorted.length - 1);
        return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
    }
}
