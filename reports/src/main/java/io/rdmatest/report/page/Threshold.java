package io.rdmatest.report.page;

import io.rdmatest.Measurement;
import io.rdmatest.Measurement.Better;
import io.rdmatest.report.run.Run;
import io.rdmatest.report.run.Units;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What was demanded of a measurement.
 *
 * @param scenario the name of the scenario
 * @param what the name of the measurement
 * @param demanded the limit
 * @param measured the value; a dash if there is none
 * @param result {@code kept}, {@code missed} or {@code not measured}
 */
record Threshold(String scenario, String what, String demanded, String measured, String result) {

    private static final String DEMANDED = "demanded: ";

    /** Returns all thresholds of a run. */
    static List<Threshold> of(Run run) {
        List<Threshold> found = new ArrayList<>();
        for (Run.Scenario scenario : run.scenarios()) {
            Map<String, Measurement> values = scenario.collected.values();
            values.forEach((name, limit) -> {
                if (name.startsWith(DEMANDED)) {
                    String what = name.substring(DEMANDED.length());
                    Measurement measured = values.get(what);
                    found.add(new Threshold(
                            scenario.name,
                            what,
                            text(limit),
                            measured == null ? "–" : text(measured),
                            result(limit, measured)));
                }
            });
        }
        return found;
    }

    private static String result(Measurement limit, @Nullable Measurement measured) {
        if (measured == null || !measured.unit().equals(limit.unit())) {
            return "not measured";
        }
        boolean kept = measured.better() == Better.HIGHER
                ? measured.value() >= limit.value()
                : measured.value() <= limit.value();
        return kept ? "kept" : "missed";
    }

    private static String text(Measurement measurement) {
        return Units.digits(measurement.value()) + " " + measurement.unit();
    }
}
