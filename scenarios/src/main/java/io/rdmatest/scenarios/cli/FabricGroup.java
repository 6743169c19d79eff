package io.rdmatest.scenarios.cli;

import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The parent of the commands for fabric files; it does nothing by itself. */
@Command(
        name = "fabric",
        sortOptions = false,
        synopsisSubcommandLabel = "<command>",
        description = "Checks fabric files, and the fabrics that they describe.",
        commandListHeading = "%nCommands:%n")
final class FabricGroup implements Callable<Integer> {

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Show this text.")
    private boolean help;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Override
    public Integer call() {
        throw new ParameterException(spec.commandLine(), "no command given");
    }
}
