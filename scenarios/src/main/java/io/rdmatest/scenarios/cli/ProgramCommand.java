package io.rdmatest.scenarios.cli;

import io.rdmatest.scenarios.role.RoleContext;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import java.util.function.BooleanSupplier;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * A command that runs one side of a program.
 *
 * <p>A subclass has its options in a field {@code @Mixin XxxArguments arguments}, and runs the role in {@link #run}. Printing,
 * verdicts, {@code --json} and interruption are done here.
 */
abstract class ProgramCommand implements Callable<Integer> {

    /** What every program takes. */
    @Mixin
    CommonOptions common = new CommonOptions();

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Show this text.")
    private boolean help;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    private BooleanSupplier cancelled = () -> false;
    private boolean checkOnly;

    /**
     * Runs one side and returns what it reports. What it throws is judged by {@link Verdicts}: wrong data is an
     * {@link AssertionError}, and what is wrong with the peer a {@link io.rdmatest.scenarios.role.ScenarioException}.
     *
     * @param context the device that the options select, looked for when it is first asked for; cancelled by SIGINT and SIGTERM
     */
    protected abstract Outcome run(RoleContext context) throws Exception;

    /** Says who tells of an interruption, and whether only the options are to be checked. */
    final void prepare(BooleanSupplier cancelled, boolean checkOnly) {
        this.cancelled = cancelled;
        this.checkOnly = checkOnly;
    }

    @Override
    public final Integer call() {
        checkOptions();
        if (checkOnly) {
            return Rdmatest.OPTIONS_ARE_RIGHT;
        }
        PrintWriter err = spec.commandLine().getErr();
        Printer printer =
                new Printer(spec.name(), common.json(), spec.commandLine().getOut(), err);
        Outcome outcome;
        try {
            outcome = run(new CommandContext(common, err, cancelled));
        } catch (Exception | AssertionError e) {
            return printer.failure(e, cancelled.getAsBoolean()).code();
        }
        return printer.success(outcome, cancelled.getAsBoolean()).code();
    }

    /** Lets the role's options be made before anything is looked for or started, so that a wrong value is wrong usage. */
    private void checkOptions() {
        for (CommandSpec mixin : spec.mixins().values()) {
            if (mixin.userObject() instanceof Arguments<?> arguments) {
                try {
                    arguments.toOptions(common);
                } catch (IllegalArgumentException e) {
                    throw new ParameterException(spec.commandLine(), e.getMessage(), e);
                }
            }
        }
    }
}
