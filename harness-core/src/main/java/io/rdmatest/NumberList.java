package io.rdmatest;

import java.util.BitSet;

/** Reads lists of processors and of NUMA nodes as the kernel writes them in sysfs: {@code 0-3,8}, the list format of cpuset(7). */
public final class NumberList {

    private NumberList() {}

    /**
     * Reads a list.
     *
     * @param list numbers and ranges from 0 that commas separate; blank for none
     * @return the numbers
     * @throws IllegalArgumentException if it is no such list; the message quotes it
     */
    public static BitSet parse(String list) {
        BitSet numbers = new BitSet();
        if (list.isBlank()) {
            return numbers;
        }
        for (String range : list.split(",", -1)) {
            String[] ends = range.strip().split("-", 2);
            try {
                int first = Integer.parseUnsignedInt(ends[0]);
                int last = Integer.parseUnsignedInt(ends[ends.length - 1]);
                numbers.set(first, Math.addExact(last, 1));
            } catch (IndexOutOfBoundsException | IllegalArgumentException | ArithmeticException e) {
                throw new IllegalArgumentException("'" + list + "' is no list of numbers and ranges, such as 0-3,8", e);
            }
        }
        return numbers;
    }
}
