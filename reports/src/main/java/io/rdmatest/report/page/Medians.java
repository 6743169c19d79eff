package io.rdmatest.report.page;

import java.util.Arrays;

/** Medians of values of which some are missing. */
final class Medians {

    private Medians() {}

    /**
     * Returns the median of some values; of an even number the mean of the two in the middle.
     *
     * @param values the values, which are sorted; NaN where there is none
     * @return NaN if there is no value
     */
    static double sorting(float[] values) {
        Arrays.sort(values);
        int count = values.length;
        // NaN is greater than anything else.
        while (count > 0 && Float.isNaN(values[count - 1])) {
            count--;
        }
        return count == 0 ? Double.NaN : ((double) values[(count - 1) / 2] + values[count / 2]) / 2;
    }
}
