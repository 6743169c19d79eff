package io.rdmatest.scenarios.qualify;

import io.rdmatest.Measurement;
import io.rdmatest.report.run.Run;
import io.rdmatest.report.run.Units;
import io.rdmatest.report.run.Verdict;
import java.io.PrintStream;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Prints what came of a run: a line for each scenario, the failures with their reasons, and the outcome. */
final class RunTable {

    /** Lines of each reason that are repeated at the end. */
    private static final int REASON_LINES = 3;

    private final PrintStream out;
    private final QualifyConsole console;

    RunTable(PrintStream out, QualifyConsole console) {
        this.out = out;
        this.console = console;
    }

    /**
     * Prints it.
     *
     * @param differs what differs between the nodes; null for nothing
     * @param again the command that runs again what failed
     */
    void print(Run run, @Nullable String differs, String again) {
        out.println();
        List<Run.Scenario> listed = run.scenarios().stream()
                .filter(scenario -> console.listsAll() || scenario.verdict != Verdict.PASSED)
                .toList();
        int shown = listed.stream()
                .mapToInt(scenario -> scenario.name.length())
                .max()
                .orElse(0);
        shown = Math.clamp(shown, 8, console.columns() > 0 ? Math.clamp(console.columns() / 2, 8, 72) : 72);
        String row = "%-" + shown + "s  %-7s  %9s  %s";
        if (!listed.isEmpty()) {
            out.println(console.cut(row.formatted("scenario", "verdict", "time", "measured")));
        }
        for (Run.Scenario scenario : listed) {
            String time = Units.seconds(scenario.durationMillis);
            out.println(console.cut(row.formatted(cut(scenario.name, shown), scenario.verdict, time, measured(scenario))
                    .stripTrailing()));
        }
        if (listed.size() < run.scenarios().size()) {
            out.println("The other scenarios passed: -v lists them.");
        }
        for (Run.Scenario scenario : run.scenarios()) {
            List<String> warnings = scenario.getWarnings();
            if (!warnings.isEmpty()) {
                out.println("warning: %s: %s%s"
                        .formatted(
                                firstLine(scenario.name),
                                firstLine(warnings.getFirst()),
                                warnings.size() == 1
                                        ? ""
                                        : " (and " + (warnings.size() - 1) + " more, see the summary)"));
            }
        }
        out.println();
        for (Run.Scenario scenario : run.scenarios()) {
            if (scenario.verdict == Verdict.FAILED || scenario.verdict == Verdict.BROKEN) {
                out.println("%s %-7s %s".formatted(console.mark(scenario.verdict), scenario.verdict, scenario.name));
                if (scenario.reason != null) {
                    out.println(reason(scenario.reason).indent(10).stripTrailing());
                }
            }
        }
        if (run.count(Verdict.FAILED) + run.count(Verdict.BROKEN) > 0) {
            out.println("Run these again: " + again);
            out.println();
        }
        out.println("%s: %s".formatted(Run.scenarios(run.scenarios().size()), run.counts()));
        long notRun =
                run.scenarios().stream().filter(scenario -> scenario.notRun).count();
        if (notRun > 0) {
            out.println(notRun + (notRun == 1 ? " of them was" : " of them were") + " not run.");
        }
        run.notJudged().forEach(reason -> out.println("Not judged: " + firstLine(reason)));
        if (differs != null) {
            out.println(differs);
        }
        String outcome = run.outcome().toString();
        out.println(
                outcome.substring(0, 1).toUpperCase(Locale.ROOT) + outcome.substring(1) + ". " + run.outcomeReason());
    }

    private static String measured(Run.Scenario scenario) {
        if (scenario.verdict != Verdict.PASSED && scenario.reason != null) {
            return firstLine(scenario.reason);
        }
        Collection<Measurement> values = scenario.collected.values().values();
        String shown = Stream.concat(
                        values.stream().filter(value -> Objects.equals(value.percentile(), 50.0)), values.stream())
                .findFirst()
                .map(value -> value.name() + " " + Units.text(value.value(), value.unit()))
                .orElse("");
        long verified = scenario.getBytesVerified();
        if (verified > 0) {
            return shown + (shown.isEmpty() ? "" : ", ") + Units.bytes(verified) + " verified";
        }
        return shown;
    }

    /** Returns the first lines of a reason. They are not cut, because no other place shows them. */
    private static String reason(String text) {
        List<String> lines = text.strip().lines().toList();
        String shown = String.join(System.lineSeparator(), lines.subList(0, Math.min(lines.size(), REASON_LINES)));
        return lines.size() > REASON_LINES ? shown + System.lineSeparator() + "..." : shown;
    }

    /** Returns the first line of a text, cut where a console is not wide enough. */
    static String firstLine(String text) {
        return cut(text.strip().lines().findFirst().orElse(""), 160);
    }

    /** Returns a text that is at most so many characters long: its end is left out if it is longer. */
    static String cut(String text, int most) {
        return text.length() > most ? text.substring(0, most - 3) + "..." : text;
    }
}
