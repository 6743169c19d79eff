package io.rdmatest.scenarios.interop;

import io.rdmatest.scenarios.cli.OptionLine;
import io.rdmatest.scenarios.role.Fault;
import io.rdmatest.scenarios.rstream.RstreamOptions;

/**
 * One field of the interoperability matrix: a C program against the role of ours that talks to it, with certain options.
 *
 * @param program the C program, for example {@code rping}
 * @param ours which side is ours
 * @param options what is varied, as on the C program's command line, for example {@code -C 12 -S 1000 -V}; neither address
 *     nor port
 * @param programVerifies whether a damaged byte must not go unnoticed: the C program compares what we send, or sends it back
 *     and our side compares it
 * @param run carries it out
 */
public record Cell(String program, OurRole ours, String options, boolean programVerifies, Run run) {

    /** Carries out a cell. */
    @FunctionalInterface
    public interface Run {

        /**
         * Starts both sides and waits for their ends, each wait with a deadline.
         *
         * @param context what the cell may use; it ends and releases whatever was started through it
         * @param fault what our side does wrong on purpose
         * @return how many payload bytes were compared, or, where nobody can compare them, counted
         * @throws AssertionError if the two sides disagree, or one of them says that it failed
         * @throws Exception what the roles throw
         */
        long run(CellContext context, Fault fault) throws Exception;
    }

    /** Returns the cell as the report names it, for example {@code rping, our client, C server: -C 12 -S 1000}. */
    @Override
    public String toString() {
        return program + ", " + ours.sides() + ": " + optionsText();
    }

    /** Tells whether the sides talk over TCP, and the device has nothing to do. */
    boolean overTcp() {
        return program.equals("rstream")
                && OptionLine.parse(RstreamOptions.class, options).transport() == RstreamOptions.Transport.TCP;
    }

    /** Returns the options, or that there are none. */
    String optionsText() {
        return options.isBlank() ? "defaults" : options;
    }
}
