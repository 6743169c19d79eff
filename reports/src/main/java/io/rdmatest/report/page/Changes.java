package io.rdmatest.report.page;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * What changed since earlier runs, from {@code comparison.json}.
 *
 * @param summary all of it in one sentence
 * @param rows what changed, what is worse first
 * @param history what was measured in earlier runs, as JSON that is safe inside a script element
 * @param series the names of its lines
 */
record Changes(String summary, List<Row> rows, String history, List<String> series) {

    /** More of them nobody looks at. */
    private static final int MOST_SERIES = 24;

    private static final int MOST_RUNS = 30;

    /**
     * One change.
     *
     * @param change {@code worse}, {@code better} or {@code other}
     * @param what the scenario or the part of the environment
     * @param text what it was and what it is
     */
    record Row(String change, String what, String text) {}

    static Changes of(JsonNode json) {
        List<Row> rows = new ArrayList<>();
        for (JsonNode turn : json.path("verdicts")) {
            String reason = turn.path("reason").asText();
            rows.add(new Row(
                    turn.path("change").asText(),
                    turn.path("scenario").asText(),
                    turn.path("before").asText() + " → " + turn.path("after").asText()
                            + (turn.path("again").asBoolean() ? " when run again" : "")
                            + (reason.isEmpty() ? "" : ": " + reason)));
        }
        for (JsonNode shift : json.path("measurements")) {
            rows.add(new Row(
                    shift.path("change").asText(),
                    shift.path("scenario").asText() + ": "
                            + shift.path("measurement").asText(),
                    text(shift)));
        }
        for (JsonNode fact : json.path("environment")) {
            rows.add(new Row(
                    "other",
                    fact.path("name").asText(),
                    fact.path("before").asText() + " → " + fact.path("after").asText()));
        }
        List<String> order = List.of("worse", "better", "other");
        rows.sort((a, b) -> Integer.compare(order.indexOf(a.change), order.indexOf(b.change)));
        int before = json.path("before").size();
        String summary = "%d worse and %d better than in %s. %d verdicts and %d measurements were compared."
                .formatted(
                        json.path("worse").asInt(),
                        json.path("better").asInt(),
                        before == 1 ? "the run before" : "the " + before + " runs before",
                        json.path("comparedVerdicts").asInt(),
                        json.path("comparedMeasurements").asInt());
        return history(summary, rows, json.path("history"));
    }

    private static Changes history(String summary, List<Row> rows, JsonNode history) {
        ObjectNode json = new ObjectMapper().createObjectNode();
        ArrayNode runs = json.putArray("runs");
        int skipped = Math.max(0, history.path("runs").size() - MOST_RUNS);
        for (int run = skipped; run < history.path("runs").size(); run++) {
            runs.add(history.path("runs").get(run));
        }
        ArrayNode lines = json.putArray("series");
        List<String> names = new ArrayList<>();
        for (JsonNode each : history.path("series")) {
            if (names.size() < MOST_SERIES) {
                names.add(each.path("scenario").asText() + ": "
                        + each.path("measurement").asText() + ", in "
                        + each.path("unit").asText());
                ArrayNode values = lines.addArray();
                for (int run = skipped; run < each.path("values").size(); run++) {
                    values.add(each.path("values").get(run));
                }
            }
        }
        return new Changes(summary, List.copyOf(rows), MapPart.json(json), List.copyOf(names));
    }

    private static String text(JsonNode shift) {
        double before = shift.path("before").asDouble();
        String unit = " " + shift.path("unit").asText();
        JsonNode after = shift.path("after");
        String was = (shift.path("finding").asText().equals("drift") ? "drifts from " : "") + Metric.digits(before);
        String now = after.isNumber()
                ? Metric.digits(after.asDouble())
                        + unit
                        + (before > 0 ? String.format(Locale.ROOT, " (%.2f times)", after.asDouble() / before) : "")
                : "missing";
        return was + (after.isNumber() ? "" : unit) + " → " + now;
    }
}
