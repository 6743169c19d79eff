package io.rdmatest.scenarios.cli;

import io.rdmatest.scenarios.role.RoleContext;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/**
 * A command that runs one side of a program.
 *
 * <p>A subclass has its options in a field {@code @Mixin XxxArguments arguments}, and runs the role in {@link #run}. Printing,
 * verdicts, {@code --json} and interruption are done here.
 */
abstract class ProgramCommand extends ReportingCommand {

    /** What every program takes. */
    @Mixin
    CommonOptions common = new CommonOptions();

    /**
     * Runs one side and returns what it reports. What it throws is judged by {@link Verdicts}: wrong data is an
     * {@link AssertionError}, and what is wrong with the peer a {@link io.rdmatest.scenarios.role.ScenarioException}.
     *
     * @param context the device that the options select, looked for when it is first asked for; cancelled by SIGINT and SIGTERM
     */
    protected abstract Outcome run(RoleContext context) throws Exception;

    @Override
    final Outcome execute() throws Exception {
        CommandContext context = new CommandContext(common, err(), cancelled());
        if (common.device().isPresent() || common.gidIndex().isPresent()) {
            // A client that is given an address would never ask for it, and a wrong name would go unnoticed.
            context.device();
        }
        return run(context);
    }

    @Override
    final boolean json() {
        return common.json();
    }

    /** Lets the role's options be made, so that a value out of range is wrong usage. */
    @Override
    final void check() {
        try {
            for (CommandSpec mixin : spec().mixins().values()) {
                if (mixin.userObject() instanceof Arguments<?> arguments) {
                    arguments.toOptions(common);
                }
            }
            checkCommandLine();
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec().commandLine(), e.getMessage(), e);
        }
    }

    /**
     * Checks what the options must be on a command line and need not be elsewhere, such as the address of a server.
     *
     * @throws IllegalArgumentException if they are not; the message is one sentence that names the option
     */
    protected void checkCommandLine() {}
}
