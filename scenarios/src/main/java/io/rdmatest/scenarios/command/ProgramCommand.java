package io.rdmatest.scenarios.command;

import io.rdmatest.scenarios.options.Addresses;
import io.rdmatest.scenarios.options.Options;
import io.rdmatest.scenarios.role.RoleContext;
import java.net.InetAddress;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.ParameterException;

/**
 * A command that runs one side of a program.
 *
 * <p>A subclass runs the role in {@link #run}. Printing, verdicts, {@code --json} and interruption are done here.
 *
 * @param <O> the options of the program
 */
public abstract class ProgramCommand<O extends Options<O>> extends ReportingCommand {

    /** The options of the program, read from the command line. */
    @Mixin
    protected final O options;

    /**
     * Creates a command.
     *
     * @param options the options with their defaults; picocli fills them in
     */
    protected ProgramCommand(O options) {
        this.options = options;
    }

    /**
     * Runs one side and returns what it reports. What it throws is judged by {@link Verdicts}: wrong data is an
     * {@link AssertionError}, and what is wrong with the peer a {@link io.rdmatest.scenarios.role.ScenarioException}.
     *
     * @param context the device that the options select, looked for when it is first asked for; cancelled by SIGINT and SIGTERM
     */
    protected abstract Outcome run(RoleContext context) throws Exception;

    @Override
    protected final Outcome execute() throws Exception {
        CommandContext context = new CommandContext(options, err(), cancelled());
        if (options.selectsDevice()) {
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
        if (own != null && options.selectsDevice()) {
            Addresses.requireOn(context.device(), own);
        }
    }

    @Override
    protected final boolean json() {
        return options.json();
    }

    @Override
    protected final void check() {
        List<String> words = spec().commandLine().getParseResult().originalArgs();
        try {
            // The words of the whole command line, which begins with the name of the command.
            options.complete(words.subList(words.indexOf(spec().name()) + 1, words.size()));
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
