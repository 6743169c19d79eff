package io.rdmatest.scenarios.qualification;

import io.rdmatest.scenarios.culprits.Metric;
import java.util.LinkedHashMap;
import java.util.Map;

/** The settings of a run that change what pairs of nodes reach. Figures of runs are compared only where these are alike. */
final class PairConditions {

    /** What each is where a summary does not say it; empty where the devices decide. */
    private static final Map<String, String> UNLESS_SET = unlessSet();

    /** Their names, for sentences. */
    static final String NAMES = String.join(", ", UNLESS_SET.keySet());

    /** What a run was asked to measure of pairs; everything where a summary does not say it. */
    private static final String MEASURE = "rdma.pairs.measure";

    private PairConditions() {}

    /**
     * Returns whether a run was asked for what a measurement of all pairs comes of.
     *
     * @param settings what its summary says
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
     * @param settings what its summary says; others are left out
     */
    static Map<String, String> of(Map<String, String> settings) {
        Map<String, String> conditions = new LinkedHashMap<>(UNLESS_SET);
        conditions.replaceAll(settings::getOrDefault);
        return conditions;
    }
}
