package io.rdmatest.report.output;

import io.rdmatest.report.run.Run;
import io.rdmatest.report.run.Units;
import io.rdmatest.report.run.Verdict;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * A table of scenarios: those of one parent suite, a row for each suite and sub-suite, a field for each scenario. Scenarios
 * belong to one by their labels.
 *
 * @param name the parent suite
 * @param rows the fields of each row, in the order of the run
 */
record Matrix(String name, Map<Row, List<Run.Scenario>> rows) {

    /** What the fields of a row have in common, for example a program and a role. */
    record Row(String suite, String subSuite) {}

    static List<Matrix> of(Run run) {
        Map<String, Map<Row, List<Run.Scenario>>> found = new LinkedHashMap<>();
        for (Run.Scenario scenario : run.scenarios()) {
            String parent = scenario.labels.get("parentSuite");
            String suite = scenario.labels.get("suite");
            String subSuite = scenario.labels.get("subSuite");
            if (parent != null && suite != null && subSuite != null) {
                found.computeIfAbsent(parent, ignored -> new LinkedHashMap<>())
                        .computeIfAbsent(new Row(suite, subSuite), ignored -> new ArrayList<>())
                        .add(scenario);
            }
        }
        return found.entrySet().stream()
                .map(entry -> new Matrix(entry.getKey(), entry.getValue()))
                .toList();
    }

    /** Returns a page of its own. */
    String toHtml() {
        List<Run.Scenario> all = rows.values().stream().flatMap(List::stream).toList();
        StringBuilder html = Html.begin(name, """
                ul { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: 4px; }
                li { padding: 3px 6px; border-left: 5px solid; background: #fafafa; font: 12px monospace; }
                li span { font-family: sans-serif; }
                .passed { border-color: #2e8b3d; background: #eaf6ec; }
                .failed { border-color: #d33a2c; background: #fdeceb; }
                .broken { border-color: #d9a400; background: #fdf6df; }
                .skipped { border-color: #999; background: #f0f0f0; }
                """);
        html.append("""
                <p>%s</p>
                <table><tr><th>program</th><th>role</th><th>passed</th><th>options</th></tr>
                """.formatted(Html.escaped(Run.counts(all))));
        rows.forEach((row, scenarios) -> {
            long passed = scenarios.stream()
                    .filter(scenario -> scenario.verdict == Verdict.PASSED)
                    .count();
            html.append("<tr><td>%s</td><td>%s</td><td>%d of %d</td><td><ul>"
                    .formatted(Html.escaped(row.suite), Html.escaped(row.subSuite), passed, scenarios.size()));
            for (Run.Scenario scenario : scenarios) {
                html.append("<li class='%s'%s>%s <span>%s, %s</span></li>"
                        .formatted(
                                scenario.verdict,
                                scenario.reason == null ? "" : " title='" + Html.escaped(scenario.reason) + "'",
                                Html.escaped(
                                        Objects.requireNonNullElse(scenario.parameters.get("options"), scenario.name)),
                                scenario.verdict,
                                Units.seconds(scenario.durationMillis)));
            }
            html.append("</ul></td></tr>\n");
        });
        return Html.end(html.append("</table>"));
    }
}
