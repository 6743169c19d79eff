package io.rdmatest.scenarios.role;

import java.time.Duration;

/** The checks of option records: each failure is one sentence that names the value and what is allowed. */
final class OptionRanges {

    private OptionRanges() {}

    static void check(String what, long value, long least, long most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException("%s is %d: allowed are %d to %d".formatted(what, value, least, most));
        }
    }

    static void checkTimeout(String what, Duration value) {
        if (value.isZero() || value.isNegative()) {
            throw new IllegalArgumentException("%s is %d ms: it must be more than 0".formatted(what, value.toMillis()));
        }
    }
}
