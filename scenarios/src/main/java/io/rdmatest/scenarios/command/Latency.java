package io.rdmatest.scenarios.command;

import io.rdmatest.Measurement;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;
import org.HdrHistogram.Histogram;

/** A histogram of nanoseconds as a command reports it, in microseconds: the percentiles that its samples support. */
public final class Latency {

    private Latency() {}

    /** Returns the percentiles in one line, such as {@code p50 412 us, p99 900 us, max 950 us}. */
    public static String text(Histogram nanos) {
        StringJoiner text = new StringJoiner(", ");
        for (int percentile : new int[] {50, 99, 100}) {
            if (Measurement.supports(nanos.getTotalCount(), percentile)) {
                text.add("%s %s us".formatted(percentile == 100 ? "max" : "p" + percentile, micros(nanos, percentile)));
            }
        }
        return text.toString();
    }

    private static String micros(Histogram nanos, double percentile) {
        double value = nanos.getValueAtPercentile(percentile) / 1e3;
        return String.format(Locale.ROOT, value < 100 ? "%.1f" : "%.0f", value);
    }

    /** Returns the percentiles by name. */
    public static Map<String, Object> json(Histogram nanos) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("minUs", nanos.getMinValue() / 1e3);
        fields.put("meanUs", nanos.getMean() / 1e3);
        put(fields, "p50Us", nanos, 50);
        put(fields, "p90Us", nanos, 90);
        put(fields, "p99Us", nanos, 99);
        put(fields, "p999Us", nanos, 99.9);
        put(fields, "p9999Us", nanos, 99.99);
        fields.put("maxUs", nanos.getMaxValue() / 1e3);
        return fields;
    }

    private static void put(Map<String, Object> fields, String name, Histogram nanos, double percentile) {
        if (Measurement.supports(nanos.getTotalCount(), percentile)) {
            fields.put(name, nanos.getValueAtPercentile(percentile) / 1e3);
        }
    }
}
