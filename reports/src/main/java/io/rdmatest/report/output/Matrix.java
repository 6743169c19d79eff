package io.rdmatest.report.output;

import io.rdmatest.report.run.Run;
import io.rdmatest.report.run.Templates;
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
        return Templates.render(Matrix.class, "matrix.jte", this);
    }

    String counts() {
        return Run.counts(rows.values().stream().flatMap(List::stream).toList());
    }

    static long passed(List<Run.Scenario> scenarios) {
        return scenarios.stream()
                .filter(scenario -> scenario.verdict == Verdict.PASSED)
                .count();
    }

    static String options(Run.Scenario scenario) {
        return Objects.requireNonNullElse(scenario.parameters.get("options"), scenario.name);
    }
}
