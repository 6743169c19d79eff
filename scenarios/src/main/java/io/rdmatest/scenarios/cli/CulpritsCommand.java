package io.rdmatest.scenarios.cli;

import io.rdmatest.ExitStatus;
import io.rdmatest.report.culprits.Culprit;
import io.rdmatest.report.culprits.Culprits;
import io.rdmatest.report.culprits.PairLine;
import io.rdmatest.report.culprits.PairMatrix;
import io.rdmatest.scenarios.command.JsonCommand;
import io.rdmatest.scenarios.command.Outcome;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;

/** Names the causes of bad pairs. */
@Command(
        name = "culprits",
        sortOptions = false,
        description = {
            "Explains measured pairs by the fewest causes: a node or a port that sends or receives badly, a block of pairs from"
                    + " leaf to leaf, or a single path. Each comes with its evidence. Without sufficient evidence, no cause"
                    + " is named.",
            "Cells that were not measured are no evidence. Ends with 1 if there is a culprit, confirmed or not, or an unexplained"
                    + " failed cell, 2 if a file can't be read, and 16 if no cell was measured."
        })
final class CulpritsCommand extends JsonCommand {

    @Parameters(
            arity = "1..*",
            paramLabel = "<file>",
            description =
                    "The pairs.jsonl of one or more runs, in the order in which they were measured. They are merged:"
                            + " of lines with the same rail, sender and receiver, the last one counts.")
    private List<Path> files = List.of();

    @Override
    protected boolean needsDevice() {
        return false;
    }

    @Override
    protected void check() {}

    @Override
    protected Outcome execute() {
        Culprits culprits;
        try {
            culprits = Culprits.of(PairMatrix.read(files));
        } catch (IOException e) {
            throw new ParameterException(spec().commandLine(), e.getMessage(), e);
        }
        ExitStatus status = status(culprits);
        return new Outcome(status, message(status, culprits), lines(status, culprits), culprits.json());
    }

    private static ExitStatus status(Culprits culprits) {
        if (culprits.cells() == 0) {
            return ExitStatus.NOTHING_JUDGED;
        }
        boolean failed = culprits.unexplained().stream().anyMatch(cell -> cell.outcome() == PairLine.Outcome.FAILED);
        return culprits.causes().isEmpty() && !failed ? ExitStatus.VERIFIED : ExitStatus.FABRIC_FAILED;
    }

    private static String message(ExitStatus status, Culprits culprits) {
        if (status == ExitStatus.NOTHING_JUDGED) {
            return "no cell was measured or failed";
        }
        List<Culprit> causes = culprits.causes();
        return causes.isEmpty()
                ? "no culprit in %d cells, %d bad cells unexplained"
                        .formatted(culprits.cells(), culprits.unexplained().size())
                : "%s in %d cells: %s%s"
                        .formatted(
                                causes.size() == 1 ? "1 culprit" : causes.size() + " culprits",
                                culprits.cells(),
                                causes.getFirst().name(),
                                causes.size() == 1 ? "" : " and others");
    }

    private static List<String> lines(ExitStatus status, Culprits culprits) {
        List<String> lines = culprits.lines();
        if (status == ExitStatus.VERIFIED) {
            lines.addFirst(message(status, culprits));
        }
        return lines;
    }
}
