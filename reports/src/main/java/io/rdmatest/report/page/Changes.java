package io.rdmatest.report.page;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmatest.report.run.Units;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * What changed since earlier runs, from {@code comparison.json}.
 *
 * @param summary all of it in one sentence
 * @param rows what changed, what is worse first
 * @param cells what changed in single pairs; null if none were compared
 * @param history what was measured in earlier runs, as JSON that is safe inside a script element
 * @param series the names of its lines
 * @param nights the figures of each culprit night by night, as JSON that is safe inside a script element
 * @param culprits the names of these charts
 */
record Changes(
        String summary,
        List<Row> rows,
        @Nullable Cells cells,
        String history,
        List<String> series,
        String nights,
        List<Line> culprits) {

    private static final ObjectNode EMPTY = new ObjectMapper().createObjectNode();

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

    /**
     * What changed in single pairs.
     *
     * @param summary all of it in one sentence
     * @param ports the ports with many pairs that are worse, as parts of a sentence
     * @param rows the worst pairs
     * @param more how many others are worse
     * @param notes what limits this, as sentences
     */
    record Cells(String summary, List<String> ports, List<Pair> rows, int more, List<String> notes) {}

    /**
     * A pair that is worse.
     *
     * @param name sender, receiver and rail
     * @param text what it was and what it is
     * @param rail its rail
     * @param from the node that sends
     * @param to the node that receives
     * @param metric the member of the cell that changed; empty if it failed
     */
    record Pair(String name, String text, String rail, String from, String to, String metric) {}

    /**
     * A chart of a culprit.
     *
     * @param name what the culprit is called
     * @param what the figure and its unit
     */
    record Line(String name, String what) {}

    /** So many pairs and ports are listed. */
    private static final int MOST_PAIRS = 20;

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
        List<String> names = new ArrayList<>();
        String history = history(json.path("history"), names);
        List<Line> culprits = new ArrayList<>();
        for (JsonNode each : json.path("culprits").path("series")) {
            culprits.add(new Line(
                    each.path("name").asText(),
                    each.path("what").asText() + ", in " + each.path("unit").asText()));
        }
        return new Changes(
                summary,
                List.copyOf(rows),
                cells(json.path("cells")),
                history,
                List.copyOf(names),
                MapPart.json(json.path("culprits").isObject() ? json.path("culprits") : EMPTY),
                List.copyOf(culprits));
    }

    private static @Nullable Cells cells(JsonNode json) {
        if (!json.isObject()) {
            return null;
        }
        List<String> ports = new ArrayList<>();
        for (JsonNode port : json.path("ports")) {
            if (ports.size() < MOST_PAIRS) {
                ports.add("%d of %d %s %s on %s"
                        .formatted(
                                port.path("worse").asInt(),
                                port.path("of").asInt(),
                                port.path("direction").asText().equals("out") ? "from" : "into",
                                port.path("node").asText(),
                                port.path("rail").asText()));
            }
        }
        int others = json.path("ports").size() - ports.size();
        if (others > 0) {
            ports.add("and " + others + " more ports");
        }
        List<Pair> rows = new ArrayList<>();
        for (JsonNode cell : json.path("cells")) {
            if (rows.size() < MOST_PAIRS) {
                String rail = cell.path("rail").asText();
                String from = cell.path("from").asText();
                String to = cell.path("to").asText();
                String what = cell.path("what").asText();
                rows.add(new Pair(
                        from + " → " + to + " on " + rail,
                        cell.path("text").asText().replace("->", "→"),
                        rail,
                        from,
                        to,
                        what.equals("outcome") ? "" : what));
            }
        }
        List<String> notes = new ArrayList<>();
        json.path("notes").forEach(note -> notes.add(note.asText()));
        return new Cells(
                json.path("message").asText(),
                ports,
                rows,
                Math.max(0, json.path("worse").asInt() - rows.size()),
                notes);
    }

    private static String history(JsonNode history, List<String> names) {
        ObjectNode json = new ObjectMapper().createObjectNode();
        ArrayNode runs = json.putArray("runs");
        int skipped = Math.max(0, history.path("runs").size() - MOST_RUNS);
        for (int run = skipped; run < history.path("runs").size(); run++) {
            runs.add(history.path("runs").get(run));
        }
        ArrayNode lines = json.putArray("series");
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
        return MapPart.json(json);
    }

    private static String text(JsonNode shift) {
        double before = shift.path("before").asDouble();
        String unit = " " + shift.path("unit").asText();
        JsonNode after = shift.path("after");
        String was = (shift.path("finding").asText().equals("drift") ? "drifts from " : "") + Units.digits(before);
        String now = after.isNumber()
                ? Units.digits(after.asDouble())
                        + unit
                        + (before > 0 ? String.format(Locale.ROOT, " (%.2f times)", after.asDouble() / before) : "")
                : "missing";
        return was + (after.isNumber() ? "" : unit) + " → " + now;
    }
}
