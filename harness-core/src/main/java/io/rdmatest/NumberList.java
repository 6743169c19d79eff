package io.rdmatest;

import java.util.BitSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads lists of processors and of NUMA nodes as the kernel writes them in sysfs: {@code 0-3,8}, the list format of cpuset(7). */
public final class NumberList {

    private static final Pattern RANGE = Pattern.compile("(\\d+)(?:-(\\d+))?");

    private NumberList() {}

    /**
     * Reads a list.
     *
     * @param list numbers and ranges from 0 that commas separate; blank for none
     * @return the numbers
     * @throws IllegalArgumentException if the text is not a list of this kind; the message quotes it
     */
    public static BitSet parse(String list) {
        BitSet numbers = new BitSet();
        if (list.isBlank()) {
            return numbers;
        }
        for (String range : list.split(",", -1)) {
            Matcher ends = RANGE.matcher(range.strip());
            if (!ends.matches()) {
                throw new IllegalArgumentException(refusal(list));
            }
            try {
                int first = Integer.parseInt(ends.group(1));
                int last = ends.group(2) == null ? first : Integer.parseInt(ends.group(2));
                numbers.set(first, Math.addExact(last, 1));
            } catch (IndexOutOfBoundsException | IllegalArgumentException | ArithmeticException e) {
                throw new IllegalArgumentException(refusal(list), e);
            }
        }
        return numbers;
    }

    private static String refusal(String list) {
        return "'" + list + "' is no list of numbers and ranges, such as 0-3,8";
    }
}
