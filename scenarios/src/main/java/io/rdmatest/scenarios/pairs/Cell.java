package io.rdmatest.scenarios.pairs;

import io.rdmatest.Cause;
import org.jspecify.annotations.Nullable;

/**
 * The result of one ordered pair.
 *
 * @param pair which
 * @param verdict the judgement
 * @param sample what the last attempt measured; null if it measured nothing
 * @param attempts how often it was tried, 0 to 2
 * @param cause the cause of the last attempt's problem; null if it had none, or if there was no attempt
 * @param firstReason the problem of the first attempt, whatever the result of the second; null if it had none
 * @param reason what is wrong with the pair; null if it is good
 */
public record Cell(
        Pair pair,
        Verdict verdict,
        @Nullable Sample sample,
        int attempts,
        @Nullable Cause cause,
        @Nullable String firstReason,
        @Nullable String reason) {

    /** The judgement of a pair. */
    public enum Verdict {
        /** Measured, like the others, and as fast as demanded; at the second attempt at the latest. */
        GOOD,
        /**
         * The fabric failed once: wrong data, a failed completion or connection, lost packets. Or the pair was slower than
         * demanded, much slower than other pairs, or had a long tail, in two attempts.
         */
        BAD,
        /** Nothing is known: a node was unreachable, a host lacked a resource, or the run ended before the pair was measured. */
        NOT_MEASURED
    }

    /** How far a pair got. */
    public enum Outcome {
        /** There are values, good or bad ones. */
        MEASURED,
        /** The fabric failed before there were values. */
        FAILED,
        /** The fabric was not used to the end, for a reason that is not its own. */
        NOT_MEASURED
    }

    /** Returns how far the pair got. */
    public Outcome outcome() {
        if (sample != null) {
            return Outcome.MEASURED;
        }
        return verdict == Verdict.BAD ? Outcome.FAILED : Outcome.NOT_MEASURED;
    }
}
