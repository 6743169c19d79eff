package io.rdmatest.report.nights;

import io.rdmatest.report.culprits.Metric;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The settings of a run that affect the measurements of pairs. Measurements of runs are compared only if these settings are
 * equal.
 */
final class PairConditions {

    /** The value of each setting if a summary lacks it; empty if the devices decide. */
    private static final Map<String, String> UNLESS_SET = unlessSet();

    /** Their names, for sentences. */
    static final String NAMES = String.join(", ", UNLESS_SET.keySet());

    /** The metrics that a run measures for pairs; all metrics if a summary lacks this setting. */
    private static final String MEASURE = "rdma.pairs.measure";

    private PairConditions() {}

    /**
     * Returns whether a run measures the metric from which a measurement of all pairs is computed.
     *
     * @param settings the settings in its summary
     * @param measurement its name
     */
    static boolean isAsked(Map<String, String> settings, String measurement) {
        String asked = settings.get(MEASURE);
        return asked == null
                || Metric.ofMeasurement(measurement)
                        .map(metric -> Metric.parse(asked).contains(metric))
                        .orElse(true);
    }

    private static Map<String, String> unlessSet() {
        Map<String, String> settings = new LinkedHashMap<>();
        settings.put("rdma.pairs.qps", "");
        settings.put("rdma.pairs.size", "65536");
        settings.put("rdma.pairs.operation", "write");
        settings.put("rdma.pairs.directions", "one");
        return settings;
    }

    /**
     * Returns these settings of a run, with their values.
     *
     * @param settings the settings in its summary; other settings are left out
     */
    static Map<String, String> of(Map<String, String> settings) {
        Map<String, String> conditions = new LinkedHashMap<>(UNLESS_SET);
        conditions.replaceAll(settings::getOrDefault);
        return conditions;
    }
}
