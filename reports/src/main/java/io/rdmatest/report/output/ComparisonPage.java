package io.rdmatest.report.output;

import io.rdmatest.report.nights.QualificationComparison;
import java.util.List;

/** What changed since earlier runs, as a page beside the report. It is no result of the report: the scenarios are. */
final class ComparisonPage {

    private ComparisonPage() {}

    static String toHtml(QualificationComparison comparison) {
        StringBuilder html = Html.begin("Comparison with earlier runs", """
                .worse { background: #fdeceb; }
                .better { background: #eaf6ec; }
                """);
        html.append("<p><b>").append(Html.escaped(comparison.summary())).append("</b></p>\n");
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
                List.of("", "scenario", "measurement", "before, and now"),
                comparison.shifts().stream()
                        .map(shift -> List.of(
                                shift.change().toString(),
                                shift.scenario(),
                                shift.measurement(),
                                comparison.text(shift)))
                        .toList());
        comparison.notCompared().forEach(line -> paragraph(html, line));
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
