package io.rdmatest.scenarios.command;

import io.rdmatest.ExitStatus;
import io.rdmatest.scenarios.role.RoleCancelledException;
import java.io.PrintWriter;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.BooleanSupplier;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** A command whose result is an {@link Outcome}: how it is printed, what a failure means, and how it is interrupted. */
public abstract class ReportingCommand implements Callable<Integer> {

    /** What {@code -Drdmatest.check=true} ends with when there is something to run and its options are right. */
    public static final int OPTIONS_ARE_RIGHT = 100;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Show this text.")
    private boolean help;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    private BooleanSupplier cancelled = () -> false;
    private boolean checkOnly;
    private volatile boolean outputBroken;

    /** Sets what reports an interruption, and whether only the options are checked. */
    public final void prepare(BooleanSupplier cancelled, boolean checkOnly) {
        this.cancelled = cancelled;
        this.checkOnly = checkOnly;
    }

    /** Tells whether the result is to be one JSON object. */
    protected abstract boolean json();

    /**
     * Checks the options before anything is started.
     *
     * @throws picocli.CommandLine.ParameterException if one is wrong
     */
    protected abstract void check();

    /** Returns the command that this one is a part of, as {@code fabric} of {@code fabric check}; empty for most. */
    public Optional<Object> group() {
        return Optional.empty();
    }

    /** Tells whether the command needs a device. If not, the process that checks the options also runs it. */
    protected boolean needsDevice() {
        return true;
    }

    /**
     * Returns where the command runs, as the status of the process that only checks the options. Overridden by commands
     * that need more than a host with a device.
     */
    protected int place() {
        return OPTIONS_ARE_RIGHT;
    }

    /** Does the work; a failure is judged by {@link Verdicts}. */
    protected abstract Outcome execute() throws Exception;

    protected final CommandSpec spec() {
        return spec;
    }

    /** Tells whether the command must end: it was interrupted, or its output has no reader any more. */
    protected final BooleanSupplier cancelled() {
        return () -> outputBroken || cancelled.getAsBoolean();
    }

    /**
     * Prints a line on standard output while the work goes on. Once that is not possible the work is cancelled: a writer
     * keeps its failures to itself, and nothing else would end what prints for a reader that is gone.
     */
    protected final void printNow(String line) {
        PrintWriter out = spec.commandLine().getOut();
        out.println(line);
        if (out.checkError()) {
            outputBroken = true;
        }
    }

    protected final PrintWriter err() {
        return spec.commandLine().getErr();
    }

    /** Returns what a command is called after {@code ./rdmatest}. */
    public static String name(CommandLine line) {
        return line.getParent() == null ? "" : (name(line.getParent()) + " " + line.getCommandName()).strip();
    }

    @Override
    public final Integer call() {
        check();
        if (checkOnly && needsDevice()) {
            return place();
        }
        Printer printer =
                new Printer(name(spec.commandLine()), json(), spec.commandLine().getOut(), err());
        Outcome outcome;
        try {
            outcome = execute();
        } catch (ParameterException e) {
            throw e;
        } catch (RoleCancelledException e) {
            if (outputBroken && !cancelled.getAsBoolean()) {
                printer.complain(ExitStatus.HOST_NOT_READY, Printer.UNWRITTEN);
                return ExitStatus.HOST_NOT_READY.code();
            }
            return printer.failure(e, cancelled.getAsBoolean()).code();
        } catch (Throwable e) {
            // Whatever it is, the status of the process must not be one that means something else.
            return printer.failure(e, cancelled.getAsBoolean()).code();
        }
        return printer.success(outcome, cancelled.getAsBoolean()).code();
    }
}
