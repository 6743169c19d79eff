package io.rdmatest.scenarios.cli;

import io.rdmatest.scenarios.cli.QualificationComparison.Change;
import java.io.IOException;
import java.nio.file.Path;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;

/** Holds the results of one qualification against those of an earlier one. */
@Command(
        name = "compare",
        sortOptions = false,
        description = {
            "Tells what is other in one qualification than in an earlier one: the environment, such as kernel and firmware,"
                    + " verdicts, and medians and rates beyond a tolerance.",
            "A scenario that passed and does not any more is worse, also where it is skipped now, or not there. Ends with 14 if"
                    + " anything is worse."
        })
final class CompareCommand extends ReportingCommand {

    private static final double MOST_TOLERANCE = 1000;

    @Parameters(
            index = "0",
            paramLabel = "<before>",
            description = "The qualification.json of the earlier run, for example last night's.")
    private Path before = Path.of("");

    @Parameters(index = "1", paramLabel = "<after>", description = "That of the later one.")
    private Path after = Path.of("");

    @Option(
            names = "--tolerance",
            paramLabel = "<percent>",
            description =
                    "By how much a median or a rate may be worse or better, 0 to 1000 (default: 20). On soft-RoCE in"
                            + " emulation, medians of the same build differ by several times.")
    private double tolerance = 20;

    @Option(names = "--json", description = "Print one JSON object instead of text.")
    private boolean json;

    @Override
    boolean json() {
        return json;
    }

    @Override
    boolean needsDevice() {
        return false;
    }

    @Override
    void check() {
        if (!(tolerance >= 0) || tolerance > MOST_TOLERANCE) {
            throw new ParameterException(spec().commandLine(), "--tolerance is 0 to 1000 percent, not " + tolerance);
        }
    }

    @Override
    Outcome execute() {
        QualificationComparison comparison = new QualificationComparison(read(before), read(after), tolerance / 100);
        return new Outcome(
                comparison.count(Change.WORSE) == 0 ? ExitStatus.VERIFIED : ExitStatus.WORSE,
                comparison.summary(),
                comparison.lines(),
                comparison.json());
    }

    private Qualification read(Path file) {
        try {
            return Qualification.read(file);
        } catch (IOException e) {
            throw new ParameterException(spec().commandLine(), e.getMessage(), e);
        }
    }
}
