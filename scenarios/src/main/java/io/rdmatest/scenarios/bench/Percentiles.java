package io.rdmatest.scenarios.bench;

import java.util.LinkedHashMap;
import java.util.Map;
import org.HdrHistogram.Histogram;

/** The percentiles of a histogram of nanoseconds, in microseconds. */
final class Percentiles {

    private Percentiles() {}

    /** Returns p50, p90, p99, p99.9, p99.99 and the maximum by name. */
    static Map<String, Object> micros(Histogram nanos) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("p50", nanos.getValueAtPercentile(50) / 1e3);
        fields.put("p90", nanos.getValueAtPercentile(90) / 1e3);
        fields.put("p99", nanos.getValueAtPercentile(99) / 1e3);
        fields.put("p999", nanos.getValueAtPercentile(99.9) / 1e3);
        fields.put("p9999", nanos.getValueAtPercentile(99.99) / 1e3);
        fields.put("max", nanos.getMaxValue() / 1e3);
        return fields;
    }
}
