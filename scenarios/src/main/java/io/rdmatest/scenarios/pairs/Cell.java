package io.rdmatest.scenarios.pairs;

import org.jspecify.annotations.Nullable;

/**
 * What came of one ordered pair.
 *
 * @param pair which
 * @param verdict what is said of it
 * @param value the measured value; not a number if there is none
 * @param attempts how often it was tried, 1 or 2
 * @param why what went wrong; null if nothing did
 */
public record Cell(
        Pair pair,
        Verdict verdict,
        double value,
        int attempts,
        @Nullable String why) {

    /** What is said of a pair. */
    public enum Verdict {
        /** Measured, like the others, and as fast as demanded. */
        GOOD,
        /** The fabric did not do what it should, or slower than demanded, or much slower than between other nodes; twice. */
        BAD,
        /** Nothing is known: a node was not reached, or the harness did not work; twice. */
        NOT_MEASURED
    }
}
