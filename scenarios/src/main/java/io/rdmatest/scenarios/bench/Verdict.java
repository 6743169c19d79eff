package io.rdmatest.scenarios.bench;

import java.util.Locale;

/** What is said about a row. */
public enum Verdict {
    /** Its target is met, and most likely is the next time. */
    HOLDS,

    /** Its target is not met, and most likely isn't the next time. */
    MISSES,

    /** It is so near its target that the next time may show either; no finding about the speed. */
    UNDECIDED,

    /** There is no ratio, and a reason for that. */
    NOT_MEASURED;

    /**
     * Returns what is said about a row.
     *
     * @param measured whether it was
     * @param decided whether it most likely is the same the next time
     * @param holds whether its target is met
     */
    static Verdict of(boolean measured, boolean decided, boolean holds) {
        if (!measured) {
            return NOT_MEASURED;
        }
        if (!decided) {
            return UNDECIDED;
        }
        return holds ? HOLDS : MISSES;
    }

    /** Tells whether two runs can't both be right: the one found that the target is met, and the other that it isn't. */
    boolean contradicts(Verdict other) {
        return (this == HOLDS && other == MISSES) || (this == MISSES && other == HOLDS);
    }

    /** Returns the name in words, such as {@code not measured}. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
}
