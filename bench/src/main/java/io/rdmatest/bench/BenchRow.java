package io.rdmatest.bench;

import java.util.List;

/**
 * One comparison.
 *
 * @param name by which it is selected, such as {@code send-lat-64}
 * @param what what is compared, for people
 * @param unit of the values of both sides, such as {@code us} or {@code MiB/s}
 * @param target what the ratio of ours to theirs has to be
 * @param programs the C programs that it needs
 * @param contest makes its two sides
 */
record BenchRow(String name, String what, String unit, Target target, List<String> programs, ContestSource contest) {

    /** Makes the sides of a row. */
    @FunctionalInterface
    public interface ContestSource {

        /** Prepares a contest; nothing is started before it runs. */
        Contest open(BenchContext context);
    }

    /** Copies the list. */
    public BenchRow {
        programs = List.copyOf(programs);
    }
}
