package io.rdmatest.bench;

import java.util.Locale;

/** The verdict on a row. */
enum Verdict {
    /** Its target is met, and most likely is the next time. */
    HOLDS,

    /** Its target is not met, and most likely isn't the next time. */
    MISSES,

    /** It is so near its target that the next time may show either; no finding about the speed. */
    UNDECIDED,

    /** There is no ratio, and a reason for that. */
    NOT_MEASURED;

    /** Returns the name in words, such as {@code not measured}. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
}
