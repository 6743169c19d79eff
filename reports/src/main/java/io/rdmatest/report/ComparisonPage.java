package io.rdmatest.report;

import io.rdmatest.scenarios.qualification.QualificationComparison;
import io.rdmatest.scenarios.qualification.QualificationComparison.Change;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** What changed since earlier runs, as one result beside the scenarios: failed if anything is worse. */
final class ComparisonPage {

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
        String status = comparison.count(Change.WORSE) > 0 ? "failed" : "passed";
        new AllureResult(SUITE, "Changes", SUITE, status, WORSE + comparison.summary(), millis)
                .description(String.join("\n\n", comparison.runs()))
                .label("suite", SUITE)
                .label("framework", "rdmatest")
                .parameter("changes", comparison.summary())
                .attach(results, "changes", "changes", "text/html", toHtml(comparison))
                .write(results);
    }

    private static String toHtml(QualificationComparison comparison) {
        StringBuilder html = Html.begin(SUITE, """
                .worse { background: #fdeceb; }
                .better { background: #eaf6ec; }
                """);
        comparison.runs().forEach(run -> paragraph(html, run));
        table(
                html,
                "Environment",
                List.of("what", "before", "after"),
                comparison.facts().stream()
                        .map(fact -> List.of(fact.name(), fact.before(), fact.after()))
                        .toList());
        table(
                html,
                "Verdicts",
                List.of("", "scenario", "verdict", "reason"),
                comparison.turns().stream()
                        .map(turn -> List.of(
                                turn.change().toString(), turn.scenario(), comparison.text(turn), turn.reason()))
                        .toList());
        table(
                html,
                "Measurements",
                List.of("", "scenario", "measurement", "median before (lowest to highest), and now"),
                comparison.shifts().stream()
                        .map(shift -> List.of(
                                shift.change().toString(),
                                shift.scenario(),
                                shift.measurement(),
                                comparison.text(shift)))
                        .toList());
        paragraph(html, comparison.notCompared());
        paragraph(html, comparison.summary());
        return Html.end(html);
    }

    private static void paragraph(StringBuilder html, String text) {
        if (!text.isEmpty()) {
            html.append("<p>").append(Html.escaped(text)).append("</p>\n");
        }
    }

    /** Appends a table, if there is anything in it. A row has the style that its first cell names. */
    private static void table(StringBuilder html, String title, List<String> columns, List<List<String>> rows) {
        if (rows.isEmpty()) {
            return;
        }
        html.append("<h4>").append(title).append("</h4>\n<table><tr>");
        columns.forEach(column -> html.append("<th>").append(column).append("</th>"));
        html.append("</tr>\n");
        for (List<String> row : rows) {
            html.append("<tr class='").append(Html.escaped(row.getFirst())).append("'>");
            row.forEach(cell -> html.append("<td>").append(Html.escaped(cell)).append("</td>"));
            html.append("</tr>\n");
        }
        html.append("</table>\n");
    }
}
