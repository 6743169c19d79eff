package io.rdmatest.report.page;

import io.rdmatest.Measurement;
import io.rdmatest.Measurement.Better;
import io.rdmatest.report.run.Run;
import io.rdmatest.report.run.Units;
import io.rdmatest.report.run.Verdict;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A measurement beside the demand on it.
 *
 * @param scenario the name of the scenario
 * @param what the name of the measurement
 * @param measured the value; a dash if there is none
 * @param demanded the limit; empty if there is none
 * @param result {@code kept}, {@code missed}, {@code not measured}, or empty without a limit
 */
record Measured(String scenario, String what, String measured, String demanded, String result) {

    /** So many rows are filled up with measurements of which nothing is demanded. */
    static final int ROWS = 10;

    private static final String DEMANDED = "demanded: ";

    /** Returns every demand of a run, and up to {@value #ROWS} rows in all: of each class of scenarios about equally many. */
    static List<Measured> of(Run run) {
        List<Measured> rows = new ArrayList<>();
        for (Run.Scenario scenario : run.scenarios()) {
            Map<String, Measurement> values = scenario.collected.values();
            values.forEach((name, limit) -> {
                if (name.startsWith(DEMANDED)) {
                    String what = name.substring(DEMANDED.length());
                    Measurement measured = values.get(what);
                    rows.add(new Measured(
                            scenario.name,
                            what,
                            measured == null ? "–" : text(measured),
                            text(limit),
                            result(limit, measured)));
                }
            });
        }
        Stream<Measured> more = others(run).limit(Math.max(0, ROWS - rows.size()));
        return Stream.concat(rows.stream(), more).toList();
    }

    /** Returns a measurement of the first scenario of each method: of each class the first, of each class the second, and so on. */
    private static Stream<Measured> others(Run run) {
        record Place(int number, Measured row) {}
        Map<String, Integer> numbers = new HashMap<>();
        Set<String> methods = new HashSet<>();
        List<Place> places = new ArrayList<>();
        for (Run.Scenario scenario : run.scenarios()) {
            Collection<Measurement> values = scenario.collected.values().values();
            Measurement shown = Stream.concat(
                            values.stream().filter(value -> Objects.equals(value.percentile(), 50.0)),
                            values.stream().filter(value -> value.kind() == Measurement.Kind.RATE))
                    .findFirst()
                    .orElse(null);
            if (scenario.verdict == Verdict.PASSED
                    && shown != null
                    && values.stream().noneMatch(value -> value.name().startsWith(DEMANDED))
                    && methods.add(scenario.className + '.' + scenario.method)) {
                int number = numbers.merge(String.valueOf(scenario.className), 1, Integer::sum);
                places.add(new Place(number, new Measured(scenario.name, shown.name(), text(shown), "", "")));
            }
        }
        return places.stream().sorted(Comparator.comparingInt(Place::number)).map(Place::row);
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
        return Units.text(measurement.value(), measurement.unit());
    }
}
