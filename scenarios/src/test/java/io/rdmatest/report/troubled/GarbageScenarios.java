package io.rdmatest.report.troubled;

import io.rdmatest.Measurement;
import io.rdmatest.ReportKeys;
import io.rdmatest.junit.RdmaReport;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;

class GarbageScenarios {

    /** A lone half of a surrogate pair, a control character and a name that no JSON reader takes. */
    @Test
    void publishesWhatNobodyCanRead(TestReporter reporter) {
        reporter.publishEntry(Map.of(ReportKeys.MEASUREMENT, "rate", ReportKeys.VALUE, "1,5", ReportKeys.UNIT, "Gb/s"));
        reporter.publishEntry(Map.of(ReportKeys.THROUGHPUT, "write", ReportKeys.SIZE, "-1", ReportKeys.VALUE, "NaN"));
        reporter.publishEntry(Map.of(ReportKeys.HISTOGRAM, "rtt", ReportKeys.HISTOGRAM_DATA, "no base64"));
        reporter.publishEntry(ReportKeys.BYTES_VERIFIED, "many");
        reporter.publishEntry(Map.of(ReportKeys.PARAMETER, "half \ud800", ReportKeys.VALUE, "\u0000\u001b[31m \udc00"));
        reporter.publishEntry(Map.of(ReportKeys.PARAMETER, "long" + "g".repeat(100_000), ReportKeys.VALUE, "1"));
        reporter.publishEntry("absurd" + "d".repeat(100_000), "1");
        reporter.publishEntry(Map.of(ReportKeys.LABEL, "junit.platform.uniqueid", ReportKeys.VALUE, "another"));
        new RdmaReport(reporter).measurement(Measurement.rate("good", 0.0000123, "Gb/s"));
    }

    @Test
    void nestsStepsWithoutEnd(TestReporter reporter) {
        for (int depth = 0; depth < 2000; depth++) {
            reporter.publishEntry(Map.of(ReportKeys.STEP, "deeper", ReportKeys.STEP_EVENT, ReportKeys.START));
        }
    }
}
