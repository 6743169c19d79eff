package io.rdmatest.verbs;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;

/** Signals that a list of work requests was not posted as a whole: those before {@link #badIndex()} are posted. */
public final class PostException extends RdmaException {

    private static final long serialVersionUID = 1L;

    private static final String FULL = "The queue is full: poll completions first, or create it with more entries.";
    private static final String MISFIT =
            "The request does not fit the queue pair: check its state, the number of segments, the length of inline data and"
                    + " the operation.";

    private final int badIndex;

    /** Takes what the provider returned: an errno, its negative, or a number that is no errno. */
    PostException(String call, String operands, int result, int badIndex, int count) {
        super(
                call,
                operands + (badIndex < 0 ? ", none of " + count : ", request " + badIndex + " of " + count),
                Verbs.isErrno(result) ? Math.abs(result) : 0,
                (badIndex > 0 ? "Requests 0 to " + (badIndex - 1) + " are posted. " : "") + cure(result));
        this.badIndex = badIndex;
    }

    /**
     * Returns {@link Cause#DEFECT}: to post more requests, or other requests, than the queue pair takes is a mistake of the
     * caller.
     */
    @Override
    public Cause rdmaCause() {
        return Cause.DEFECT;
    }

    private static String cure(int result) {
        if (!Verbs.isErrno(result)) {
            return "It returned " + result + ", which is no errno: the provider does not tell one cause from another. "
                    + FULL + " Or else: " + MISFIT;
        }
        return switch (Math.abs(result)) {
            case 12 -> FULL;
            case 22 -> MISFIT;
            default -> "";
        };
    }

    /** Returns the index in the posted list of the first request that was refused; -1 if the provider did not say. */
    public int badIndex() {
        return badIndex;
    }
}
