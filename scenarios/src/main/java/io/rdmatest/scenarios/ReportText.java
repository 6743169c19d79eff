package io.rdmatest.scenarios;

import io.rdmatest.Measurement;
import io.rdmatest.junit.RdmaReport;
import java.time.Duration;

/** What several scenarios report in the same way. */
final class ReportText {

    private ReportText() {}

    /** Reports how long a phase took that happened once. */
    static void phase(RdmaReport report, String phase, long nanos) {
        report.measurement(Measurement.duration(phase, Duration.ofNanos(nanos)));
    }
}
