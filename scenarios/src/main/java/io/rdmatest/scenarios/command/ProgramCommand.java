package io.rdmatest.scenarios.command;

import io.rdmatest.scenarios.options.Addresses;
import io.rdmatest.scenarios.options.Options;
import io.rdmatest.scenarios.role.RoleContext;
import java.net.InetAddress;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/**
 * A command that runs one side of a program.
 *
 * <p>A subclass has its options in a field {@code @Mixin XxxOptions arguments}, and runs the role in {@link #run}. Printing,
 * verdicts, {@code --json} and interruption are done here.
 */
public abstract class ProgramCommand extends ReportingCommand {

    /** What every program takes. */
    @Mixin
    protected CommonOptions common = new CommonOptions();

    /**
     * Runs one side and returns what it reports. What it throws is judged by {@link Verdicts}: wrong data is an
     * {@link AssertionError}, and what is wrong with the peer a {@link io.rdmatest.scenarios.role.ScenarioException}.
     *
     * @param context the device that the options select, looked for when it is first asked for; cancelled by SIGINT and SIGTERM
     */
    protected abstract Outcome run(RoleContext context) throws Exception;

    @Override
    protected final Outcome execute() throws Exception {
        CommandContext context = new CommandContext(common, err(), cancelled());
        if (common.selectsDevice()) {
            // A client that is given an address would never ask for it, and a wrong name would go unnoticed.
            context.device();
        }
        return run(context);
    }

    /**
     * Requires a local address that was given to be one of the device that was asked for.
     *
     * @param own the address; null if none was given
     * @throws io.rdmatest.scenarios.role.ScenarioException if it is of another one
     */
    protected final void requireOnDevice(RoleContext context, @Nullable InetAddress own) {
        if (own != null && common.selectsDevice()) {
            Addresses.requireOn(context.device(), own);
        }
    }

    @Override
    protected final boolean json() {
        return common.json();
    }

    /** Applies the common options, so that a value out of range is wrong usage. */
    @Override
    protected final void check() {
        try {
            for (CommandSpec mixin : spec().mixins().values()) {
                if (mixin.userObject() instanceof Options<?> options) {
                    common.applyTo(options);
                }
            }
            checkCommandLine();
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec().commandLine(), e.getMessage(), e);
        }
    }

    /** Tells whether an option was given, be it with its default value. */
    protected final boolean isGiven(String option) {
        return spec().commandLine().getParseResult().hasMatchedOption(option);
    }

    /**
     * Checks what the options must be on a command line and need not be elsewhere, such as the address of a server.
     *
     * @throws IllegalArgumentException if they are not; the message is one sentence that names the option
     */
    protected void checkCommandLine() {}
}
