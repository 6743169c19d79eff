package io.rdmatest.scenarios.interop;

import io.rdmatest.scenarios.role.Fault;
import io.rdmatest.scenarios.rstream.RstreamOptions;

/**
 * One cell of the interoperability matrix: a C program against the role of rdmatest that talks to it, with certain options.
 *
 * @param program the C program, for example {@code rping}
 * @param ours which side is ours
 * @param options the varied options, as on the C program's command line, for example {@code -C 12 -S 1000 -V}; neither address
 *     nor port
 * @param programVerifies whether a damaged byte must be noticed: the C program compares the data from our side, or sends it back
 *     and our side compares it
 * @param run runs the cell
 */
public record Cell(String program, OurRole ours, String options, boolean programVerifies, Run run) {

    /** Runs a cell. */
    @FunctionalInterface
    public interface Run {

        /**
         * Starts both sides and waits for their ends, each wait with a deadline.
         *
         * @param context the environment of the cell, which ends and releases everything that was started through it
         * @param fault the fault that our side injects
         * @return the number of payload bytes that were compared; if neither side can compare them, the number that was counted
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

    /** Returns whether the sides talk over TCP, which does not use the device. */
    boolean overTcp() {
        return program.equals("rstream") && RstreamOptions.parse(options).transport() == RstreamOptions.Transport.TCP;
    }

    /** Returns the options, or that there are none. */
    String optionsText() {
        return options.isBlank() ? "defaults" : options;
    }
}
