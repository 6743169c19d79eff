package io.rdmatest.report.page;

import io.rdmatest.report.culprits.Metric;
import org.jspecify.annotations.Nullable;

/**
 * How a node does on one rail.
 *
 * @param out the median of each {@link Metric} over what it sent, in SI units, NaN where there is none
 * @param in the same over what it received
 * @param failedOut how many cells from it failed
 * @param triedOut how many cells from it were measured or failed
 * @param failedIn how many cells into it failed
 * @param triedIn how many cells into it were measured or failed
 * @param score how bad it is: 0 is as good as the median, 1 is half as good
 */
record NodeRow(
        String node,
        @Nullable String leaf,
        String rail,
        double[] out,
        double[] in,
        int failedOut,
        int triedOut,
        int failedIn,
        int triedIn,
        double score) {

    /** Returns a metric's median of what it sent or received, in the page's unit. */
    String text(Metric metric, boolean sent) {
        return Page.text(metric, (sent ? out : in)[metric.ordinal()]);
    }

    /** Returns how many cells failed, as in {@code 3 of 31}; empty if none did. */
    String failed(boolean sent) {
        int failed = sent ? failedOut : failedIn;
        return failed == 0 ? "" : failed + " of " + (sent ? triedOut : triedIn);
    }
}
