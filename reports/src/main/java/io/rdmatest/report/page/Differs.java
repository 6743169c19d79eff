package io.rdmatest.report.page;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What differs between the nodes of a run, as the JVM of its scenarios has found it.
 *
 * @param message all of it in one line
 * @param rows what differs, what separates nodes first
 * @param below devices that are below their own capability, a sentence each
 * @param notes what is not known, a sentence each
 */
record Differs(String message, List<Row> rows, List<String> below, List<String> notes) {

    /** A sentence that names hundreds of nodes is cut here. {@code nodes.json} has all of it. */
    private static final int LONGEST = 400;

    /**
     * Something in which nodes differ.
     *
     * @param separates whether nodes that differ in it can't talk to each other
     * @param what the value of most nodes and the odd ones, as a sentence
     * @param odd the first odd node
     * @param show the command that shows the value there
     * @param cure what to do there
     */
    record Row(boolean separates, String what, String odd, String show, String cure) {}

    /** Takes the member of {@code nodes.json}; null if the run has one node. */
    static @Nullable Differs of(@Nullable JsonNode json) {
        if (json == null || !json.isObject()) {
            return null;
        }
        List<Row> rows = new ArrayList<>();
        for (JsonNode each : json.path("differences")) {
            rows.add(new Row(
                    each.path("separates").asBoolean(),
                    cut(each.path("message").asText()),
                    each.path("odd").asText(),
                    each.path("show").asText(),
                    each.path("cure").asText()));
        }
        rows.sort((a, b) -> Boolean.compare(b.separates, a.separates));
        List<String> below = new ArrayList<>();
        for (JsonNode each : json.path("belowCapability")) {
            String rail = each.path("rail").asText();
            below.add(each.path("node").asText() + (rail.isEmpty() ? "" : " on " + rail) + ": "
                    + each.path("message").asText());
        }
        List<String> notes = new ArrayList<>();
        json.path("unknown")
                .forEach(
                        each -> notes.add("Unknown: " + cut(each.path("message").asText()) + "."));
        json.path("notCompared")
                .forEach(each -> notes.add("Not compared: " + each.path("node").asText() + ": "
                        + cut(each.path("reason").asText())));
        return new Differs(json.path("message").asText(), List.copyOf(rows), List.copyOf(below), List.copyOf(notes));
    }

    private static String cut(String text) {
        return text.length() > LONGEST ? text.substring(0, LONGEST) + " …" : text;
    }
}
