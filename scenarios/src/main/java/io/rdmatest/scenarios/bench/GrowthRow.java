package io.rdmatest.scenarios.bench;

import java.util.List;

/**
 * One kind of work that can be more or less, and what a unit of it costs then.
 *
 * @param name by which it is selected, such as {@code growth-connections}
 * @param what what grows, for people
 * @param unit of the work that the cost is given for, such as {@code connection}
 * @param work how much, in ascending order
 * @param judgedFrom the least work whose cost is judged: below, what is paid once outweighs the units
 * @param source does the work
 */
public record GrowthRow(String name, String what, String unit, List<Long> work, long judgedFrom, WorkSource source) {

    /** Does the work of a row. */
    @FunctionalInterface
    public interface WorkSource {

        /**
         * Does it once.
         *
         * @param context the device and the limits
         * @param work how much
         */
        Effort run(BenchContext context, long work);
    }

    /** Copies the list. */
    public GrowthRow {
        work = List.copyOf(work);
        if (work.stream().filter(each -> each >= judgedFrom).count() < 2) {
            throw new IllegalArgumentException("The row " + name + " judges no growth");
        }
    }
}
