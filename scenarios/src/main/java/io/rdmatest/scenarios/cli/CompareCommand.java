package io.rdmatest.scenarios.cli;

import io.rdmatest.ExitStatus;
import io.rdmatest.report.nights.CellComparison;
import io.rdmatest.report.nights.Qualification;
import io.rdmatest.report.nights.QualificationComparison;
import io.rdmatest.report.nights.QualificationComparison.Change;
import io.rdmatest.scenarios.command.JsonCommand;
import io.rdmatest.scenarios.command.Outcome;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;

/** Compares the results of one qualification with those of earlier ones. */
@Command(
        name = "compare",
        sortOptions = false,
        description = {
            "Shows what differs from earlier runs. The environment, such as kernel and firmware, and the verdicts are compared"
                    + " with the latest of them. Measurements are compared with what they usually were in the last runs, and with"
                    + " older ones for a slow drift. So is each pair of nodes in a pairs.jsonl beside a qualification.json.",
            "A scenario that passed before and fails, is skipped or is missing now is worse. A measurement that"
                    + " is missing or 0 is worse. Ends with 14 if anything is worse, and with 15 if nothing could be compared."
        })
final class CompareCommand extends JsonCommand {

    @Parameters(
            arity = "1..*",
            paramLabel = "<file>",
            description =
                    "The qualification.json of one or more earlier runs, in order, for example of the last nights, and as the last"
                            + " one that of the run to judge. A folder stands for the files in it whose names end with .json, and for"
                            + " the runs that ./qualify --archive kept there, by their names.")
    private List<Path> files = List.of();

    @Option(
            names = "--tolerance",
            paramLabel = "<percent>",
            description =
                    "Allowed change of a median or a rate in percent, 0 to 1000 (default: 20); of other percentiles, five times as"
                            + " much. On soft-RoCE in emulation, medians of the same build differ by"
                            + " several times.")
    private double tolerance = 20;

    @Option(
            names = "--last",
            paramLabel = "<n>",
            description =
                    "How many of the latest earlier runs define the usual values, 1 to 1000 (default: 14). A drift"
                            + " shows in up to four times as many.")
    private int last = QualificationComparison.LAST;

    private double share;

    /** What was left out, in one sentence each. */
    private final List<String> notes = new ArrayList<>();

    @Override
    protected boolean needsDevice() {
        return false;
    }

    @Override
    protected void check() {
        try {
            share = QualificationComparison.tolerance(tolerance);
            int ignored = QualificationComparison.last(last);
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec().commandLine(), e.getMessage(), e);
        }
    }

    @Override
    protected Outcome execute() {
        List<Qualification> runs = runs();
        Qualification now = runs.getLast();
        List<Qualification> before = Qualification.comparable(runs.subList(0, runs.size() - 1), now, notes::add);
        if (before.isEmpty()) {
            throw new ParameterException(spec().commandLine(), notes.getLast());
        }
        QualificationComparison comparison = new QualificationComparison(before, now, last, share);
        List<String> lines = new ArrayList<>(notes);
        lines.addAll(comparison.lines());
        Map<String, Object> members = new LinkedHashMap<>(comparison.json());
        CellComparison cells = cells(before, now);
        if (cells != null) {
            lines.addAll(cells.lines());
            members.put("cells", cells.json());
        }
        members.put("notes", List.copyOf(notes));
        return new Outcome(status(comparison, cells), comparison.summary(cells), lines, members);
    }

    /** Holds the pairs of the last run against those of the earlier ones; null if it has none. */
    private @Nullable CellComparison cells(List<Qualification> before, Qualification now) {
        Path last = now.file();
        if (!CellComparison.hasCells(last)) {
            return null;
        }
        try {
            return CellComparison.of(now, CellComparison.read(last), before, this.last, share, List.of());
        } catch (IOException e) {
            throw new ParameterException(spec().commandLine(), e.getMessage(), e);
        }
    }

    private static ExitStatus status(QualificationComparison comparison, @Nullable CellComparison cells) {
        if (!comparison.isAnythingCompared() && (cells == null || cells.compared() == 0)) {
            return ExitStatus.NOTHING_COMPARED;
        }
        boolean isWorse = comparison.count(Change.WORSE) > 0
                || (cells != null && !cells.worse().isEmpty());
        return isWorse ? ExitStatus.WORSE : ExitStatus.VERIFIED;
    }

    private List<Qualification> runs() {
        List<Qualification> runs;
        try {
            runs = Qualification.readAll(files, QualificationComparison.DRIFT * last + 1, notes::add);
        } catch (IOException e) {
            throw new ParameterException(spec().commandLine(), e.getMessage(), e);
        }
        if (runs.size() < 2) {
            throw new ParameterException(
                    spec().commandLine(),
                    "A comparison needs two runs, not " + runs.size()
                            + " (of a folder, archived runs count, and files whose names end with .json)"
                            + notes.stream().map(each -> ". " + each).collect(Collectors.joining()));
        }
        return runs;
    }
}
