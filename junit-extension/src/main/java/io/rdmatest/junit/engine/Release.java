package io.rdmatest.junit.engine;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A release of the kernel or of rdma-core.
 *
 * @param numbers one to three, the most significant first
 */
public record Release(List<Integer> numbers) implements Comparable<Release> {

    private static final Pattern NUMBERS = Pattern.compile("\\d{1,6}(\\.\\d{1,6}){0,2}");

    public Release {
        numbers = List.copyOf(numbers);
    }

    /**
     * Reads a release that a person wrote.
     *
     * @throws IllegalArgumentException if it is none; the message says what is allowed
     */
    public static Release parse(String text) {
        if (!NUMBERS.matcher(text).matches()) {
            throw new IllegalArgumentException(
                    "\"" + text + "\" is no release; allowed: one to three numbers with dots, for example 6.1");
        }
        return of(text);
    }

    /** Reads the numbers at the beginning of what a system says, for example of {@code 6.1.0-28-amd64}; 0 if none. */
    public static Release leading(String text) {
        Matcher matcher = NUMBERS.matcher(text);
        return matcher.lookingAt() ? of(matcher.group()) : new Release(List.of(0));
    }

    private static Release of(String text) {
        return new Release(Arrays.stream(text.split("\\.", -1))
                .map(Integer::valueOf)
                .collect(Collectors.toCollection(ArrayList::new)));
    }

    /** Compares number by number; one that is not given is 0. */
    @Override
    public int compareTo(Release other) {
        for (int i = 0; i < Math.max(numbers.size(), other.numbers.size()); i++) {
            int difference = Integer.compare(number(i), other.number(i));
            if (difference != 0) {
                return difference;
            }
        }
        return 0;
    }

    /** Tells whether another release comes after this one and all that it stands for: 6.1.99 is not after 6.1. */
    public boolean isBefore(Release other) {
        List<Integer> prefix = other.numbers.subList(0, Math.min(numbers.size(), other.numbers.size()));
        return compareTo(new Release(prefix)) < 0;
    }

    private int number(int index) {
        return index < numbers.size() ? numbers.get(index) : 0;
    }

    @Override
    public String toString() {
        return numbers.stream().map(String::valueOf).collect(Collectors.joining("."));
    }
}
