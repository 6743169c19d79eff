package io.rdmatest.scenarios.options;

import java.time.Duration;

/** Checks of option records. Each failure is one sentence with the value and the allowed range. */
public final class OptionRanges {

    private OptionRanges() {}

    /**
     * Requires a number to be in its range.
     *
     * @param what the option, for the message
     * @param value its value
     * @param least the smallest allowed value
     * @param most the largest allowed value
     * @throws IllegalArgumentException if it is not in the range; the message has the value and the range
     */
    public static void check(String what, long value, long least, long most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException("%s is %d: allowed are %d to %d".formatted(what, value, least, most));
        }
    }

    /**
     * Requires a timeout to be positive.
     *
     * @param what the option, for the message
     * @param value its value
     * @throws IllegalArgumentException if it is zero or negative
     */
    public static void checkTimeout(String what, Duration value) {
        if (value.isZero() || value.isNegative()) {
            throw new IllegalArgumentException("%s is %d ms: it must be more than 0".formatted(what, value.toMillis()));
        }
    }
}
