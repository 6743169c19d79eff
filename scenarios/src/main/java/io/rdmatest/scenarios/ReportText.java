package io.rdmatest.scenarios;

import io.rdmatest.junit.RdmaReport;
import org.HdrHistogram.Histogram;

/** What several scenarios report in the same way. */
final class ReportText {

    private ReportText() {}

    /** Reports a histogram of nanoseconds, and its percentiles as measurements in microseconds. */
    static void latency(RdmaReport report, String name, Histogram histogram) {
        report.histogram(name, "ns", histogram);
        report.measurement(name + " min", histogram.getMinValue() / 1e3, "us");
        report.measurement(name + " p50", histogram.getValueAtPercentile(50) / 1e3, "us");
        report.measurement(name + " p90", histogram.getValueAtPercentile(90) / 1e3, "us");
        report.measurement(name + " p99", histogram.getValueAtPercentile(99) / 1e3, "us");
        report.measurement(name + " p99.9", histogram.getValueAtPercentile(99.9) / 1e3, "us");
        report.measurement(name + " p99.99", histogram.getValueAtPercentile(99.99) / 1e3, "us");
        report.measurement(name + " max", histogram.getMaxValue() / 1e3, "us");
    }

    static void phase(RdmaReport report, String phase, long nanos) {
        report.measurement(phase, nanos / 1e3, "us");
    }
}
