package io.rdmatest.scenarios.cli;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.HdrHistogram.Histogram;

/** A histogram of nanoseconds as a command reports it, in microseconds. */
final class Latency {

    private Latency() {}

    /** Returns the percentiles in one line, such as {@code p50 412 us, p99 900 us}. */
    static String text(Histogram nanos) {
        return "p50 %s us, p99 %s us".formatted(micros(nanos, 50), micros(nanos, 99));
    }

    private static String micros(Histogram nanos, double percentile) {
        double value = nanos.getValueAtPercentile(percentile) / 1e3;
        return String.format(Locale.ROOT, value < 100 ? "%.1f" : "%.0f", value);
    }

    /** Returns the percentiles by name. */
    static Map<String, Object> json(Histogram nanos) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("minUs", nanos.getMinValue() / 1e3);
        fields.put("meanUs", nanos.getMean() / 1e3);
        fields.put("p50Us", nanos.getValueAtPercentile(50) / 1e3);
        fields.put("p90Us", nanos.getValueAtPercentile(90) / 1e3);
        fields.put("p99Us", nanos.getValueAtPercentile(99) / 1e3);
        fields.put("p999Us", nanos.getValueAtPercentile(99.9) / 1e3);
        fields.put("p9999Us", nanos.getValueAtPercentile(99.99) / 1e3);
        fields.put("maxUs", nanos.getMaxValue() / 1e3);
        return fields;
    }
}
