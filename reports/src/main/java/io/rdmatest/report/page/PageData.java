package io.rdmatest.report.page;

import com.fasterxml.jackson.databind.JsonNode;
import io.rdmatest.report.run.Outcome;
import io.rdmatest.report.run.Units;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What {@code qualification.json} says, as the page shows it.
 *
 * @param outcome in words, such as {@code not qualified}
 * @param sentence why
 * @param notJudged each reason for which scenarios were not judged
 * @param counts how many scenarios there are of each verdict
 * @param bad the scenarios that failed or are broken
 * @param thresholds what was demanded and what was measured
 * @param environment host, device and the like
 */
record PageData(
        String outcome,
        String sentence,
        List<String> notJudged,
        String counts,
        List<Bad> bad,
        List<Threshold> thresholds,
        Map<String, String> environment) {

    private static final String DEMANDED = "demanded: ";

    /** A scenario that did not pass. */
    record Bad(String name, String verdict, @Nullable String cause, String reason) {}

    /** A demand. {@code result} is {@code kept}, {@code missed} or {@code not measured}. */
    record Threshold(String scenario, String what, String demanded, String measured, String result) {}

    /** Takes what the file holds. What an earlier build did not write is missing on the page. */
    static PageData of(JsonNode json) {
        List<String> notJudged = new ArrayList<>();
        json.path("notJudged").forEach(reason -> notJudged.add(reason.asText()));
        Map<String, String> environment = new LinkedHashMap<>();
        json.path("environment")
                .properties()
                .forEach(each -> environment.put(each.getKey(), each.getValue().asText()));
        Map<String, Integer> counts = new LinkedHashMap<>();
        List.of("passed", "failed", "broken", "skipped").forEach(verdict -> counts.put(verdict, 0));
        List<Bad> bad = new ArrayList<>();
        List<Threshold> thresholds = new ArrayList<>();
        for (JsonNode scenario : json.path("scenarios")) {
            String verdict = scenario.path("verdict").asText();
            counts.merge(verdict, 1, Integer::sum);
            if (verdict.equals("failed") || verdict.equals("broken")) {
                bad.add(new Bad(
                        scenario.path("name").asText(),
                        verdict,
                        scenario.path("cause").isTextual()
                                ? scenario.path("cause").asText()
                                : null,
                        scenario.path("reason").asText().strip()));
            }
            thresholds(scenario, thresholds);
        }
        bad.sort((a, b) -> b.verdict.compareTo(a.verdict));
        List<String> parts = new ArrayList<>();
        counts.forEach((verdict, count) -> parts.add(count + " " + verdict));
        return new PageData(
                json.path("outcome").asText("outcome unknown"),
                json.path("outcomeReason").asText(),
                List.copyOf(notJudged),
                json.path("scenarios").size()
                        + (json.path("scenarios").size() == 1 ? " scenario: " : " scenarios: ")
                        + String.join(", ", parts),
                List.copyOf(bad),
                List.copyOf(thresholds),
                environment);
    }

    private static void thresholds(JsonNode scenario, List<Threshold> found) {
        JsonNode measurements = scenario.path("measurements");
        measurements.properties().forEach(each -> {
            if (each.getKey().startsWith(DEMANDED)) {
                String what = each.getKey().substring(DEMANDED.length());
                JsonNode measured = measurements.path(what);
                found.add(new Threshold(
                        scenario.path("name").asText(),
                        what,
                        text(each.getValue()),
                        measured.isMissingNode() ? "–" : text(measured),
                        result(each.getValue(), measured)));
            }
        });
    }

    private static String result(JsonNode demanded, JsonNode measured) {
        if (measured.isMissingNode() || !measured.path("unit").equals(demanded.path("unit"))) {
            return "not measured";
        }
        double most = demanded.path("value").asDouble();
        double is = measured.path("value").asDouble();
        return measured.path("better").asText().equals("higher") ? word(is >= most) : word(is <= most);
    }

    private static String word(boolean kept) {
        return kept ? "kept" : "missed";
    }

    private static String text(JsonNode measurement) {
        return Units.digits(measurement.path("value").asDouble()) + " "
                + measurement.path("unit").asText();
    }

    /** Returns the outcome as a sentence begins. */
    String headline() {
        return outcome.isEmpty() ? outcome : outcome.substring(0, 1).toUpperCase(Locale.ROOT) + outcome.substring(1);
    }

    /** Returns the class of the outcome's colour. */
    String tone() {
        Outcome known = Outcome.of(outcome);
        return known == null ? Outcome.INCONCLUSIVE.tone() : known.tone();
    }
}
