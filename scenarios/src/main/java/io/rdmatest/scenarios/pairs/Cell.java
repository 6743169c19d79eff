package io.rdmatest.scenarios.pairs;

import io.rdmatest.Cause;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The result of one ordered pair.
 *
 * @param pair which
 * @param verdict the judgement
 * @param sample what the last attempt measured, also before it failed; null if it measured nothing
 * @param attempts how often it was tried, 0 to 3
 * @param cause the cause of the last attempt's problem; null if it had none. If there was no attempt, {@link Cause#GIVEN_UP}
 *     for a node whose pairs failed, and otherwise null
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

    /** What measured values show. All other causes ended the measurement. */
    private static final Set<Cause> OF_VALUES = EnumSet.of(Cause.COUNTERS, Cause.THRESHOLD_MISSED, Cause.OUTLIER);

    /** The judgement of a pair. */
    public enum Verdict {
        /** Measured, like the others, and as fast as demanded; in the last attempt. */
        GOOD,
        /**
         * The fabric failed once: wrong data, or a request that was refused. Or two attempts showed the same: lost packets, no
         * answer, no peer or no route, slower than demanded, much slower than other pairs, or a long tail.
         */
        BAD,
        /**
         * Nothing is known: a node was unreachable, a host lacked a resource or was too busy, each attempt showed something else, or
         * the run ended before the pair was measured.
         */
        NOT_MEASURED
    }

    /** How far a pair got. */
    public enum Outcome {
        /** There are values, good or bad ones. */
        MEASURED,
        /** The fabric failed before all values were there. Those that were measured until then are kept. */
        FAILED,
        /** The fabric was not used to the end, for a reason that is not its own. */
        NOT_MEASURED
    }

    /** Returns how far the pair got. */
    public Outcome outcome() {
        if (sample != null
                && verdict != Verdict.NOT_MEASURED
                && (verdict == Verdict.GOOD || OF_VALUES.contains(cause))) {
            return Outcome.MEASURED;
        }
        return verdict == Verdict.BAD ? Outcome.FAILED : Outcome.NOT_MEASURED;
    }
}
