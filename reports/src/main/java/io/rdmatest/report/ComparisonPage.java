package io.rdmatest.report;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmatest.scenarios.qualification.QualificationComparison;
import io.rdmatest.scenarios.qualification.QualificationComparison.Change;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.UUID;

/** What is other than in earlier runs, as one result beside the scenarios: failed if anything is worse. */
final class ComparisonPage {

    private static final ObjectMapper MAPPER = new ObjectMapper();

    /** What the message of the result begins with if anything is worse. */
    static final String WORSE = "worse than before: ";

    private static final String SUITE = "Comparison with earlier runs";

    private ComparisonPage() {}

    /**
     * Adds the result and its page to a directory of Allure results.
     *
     * @param millis when it was compared, since the epoch
     */
    static void write(QualificationComparison comparison, long millis, Path results) throws IOException {
        String uuid =
                UUID.nameUUIDFromBytes(SUITE.getBytes(StandardCharsets.UTF_8)).toString();
        String source = uuid + "-attachment.html";
        Files.writeString(results.resolve(source), toHtml(comparison));
        boolean worse = comparison.count(Change.WORSE) > 0;
        ObjectNode result = MAPPER.createObjectNode()
                .put("uuid", uuid)
                .put("historyId", uuid)
                .put("name", "What is other than before")
                .put("fullName", SUITE)
                .put("status", worse ? "failed" : "passed")
                .put("stage", "finished")
                .put("start", millis)
                .put("stop", millis)
                .put("description", String.join("\n\n", comparison.runs()));
        if (worse) {
            result.putObject("statusDetails").put("message", WORSE + comparison.summary());
        }
        ArrayNode labels = result.putArray("labels");
        Map.of("suite", SUITE, "framework", "rdmatest")
                .forEach((name, value) -> labels.addObject().put("name", name).put("value", value));
        result.putArray("parameters").addObject().put("name", "changes").put("value", comparison.summary());
        result.putArray("attachments")
                .addObject()
                .put("name", "what is other")
                .put("type", "text/html")
                .put("source", source);
        MAPPER.writeValue(results.resolve(uuid + "-result.json").toFile(), result);
    }

    /** Returns a page of its own, without scripts and without anything from elsewhere. */
    private static String toHtml(QualificationComparison comparison) {
        StringBuilder html = new StringBuilder("""
                <!DOCTYPE html>
                <html lang="en"><head><meta charset="UTF-8"><title>%1$s</title><style>
                body { font: 14px sans-serif; margin: 12px; color: #222; background: #fff; }
                table { border-collapse: collapse; }
                th, td { border: 1px solid #ccc; padding: 4px 8px; text-align: left; vertical-align: top; }
                th { background: #f2f2f2; }
                .worse { background: #fdeceb; }
                .better { background: #eaf6ec; }
                </style></head><body>
                <h3>%1$s</h3>
                """.formatted(SUITE));
        comparison.runs().forEach(run -> paragraph(html, run));
        if (!comparison.facts().isEmpty()) {
            begin(html, "Environment", "what", "before", "after");
            comparison.facts().forEach(fact -> row(html, "", fact.name(), fact.before(), fact.after()));
            html.append("</table>\n");
        }
        if (!comparison.turns().isEmpty()) {
            begin(html, "Verdicts", "", "scenario", "verdict", "reason");
            comparison
                    .turns()
                    .forEach(turn -> row(
                            html,
                            turn.change().toString(),
                            turn.change().toString(),
                            turn.scenario(),
                            comparison.text(turn),
                            turn.reason()));
            html.append("</table>\n");
        }
        if (!comparison.shifts().isEmpty()) {
            begin(html, "Measurements", "", "scenario", "measurement", "median before (lowest to highest), and now");
            comparison
                    .shifts()
                    .forEach(shift -> row(
                            html,
                            shift.change().toString(),
                            shift.change().toString(),
                            shift.scenario(),
                            shift.measurement(),
                            comparison.text(shift)));
            html.append("</table>\n");
        }
        paragraph(html, comparison.notCompared());
        paragraph(html, comparison.summary());
        return html.append("</body></html>\n").toString();
    }

    private static void paragraph(StringBuilder html, String text) {
        if (!text.isEmpty()) {
            html.append("<p>").append(Matrix.escaped(text)).append("</p>\n");
        }
    }

    private static void begin(StringBuilder html, String title, String... columns) {
        html.append("<h4>").append(title).append("</h4>\n<table><tr>");
        for (String column : columns) {
            html.append("<th>").append(column).append("</th>");
        }
        html.append("</tr>\n");
    }

    private static void row(StringBuilder html, String style, String... cells) {
        html.append("<tr class='").append(style).append("'>");
        for (String cell : cells) {
            html.append("<td>").append(Matrix.escaped(cell)).append("</td>");
        }
        html.append("</tr>\n");
    }
}
