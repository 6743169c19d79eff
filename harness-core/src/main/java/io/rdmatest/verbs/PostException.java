package io.rdmatest.verbs;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;

/** Signals that a list of work requests was not posted as a whole: those before {@link #badIndex()} are posted. */
public final class PostException extends RdmaException {

    private static final long serialVersionUID = 1L;

    private final int badIndex;

    PostException(String call, String operands, int errno, int badIndex, int count) {
        super(
                call,
                operands + (badIndex < 0 ? ", none of " + count : ", request " + badIndex + " of " + count),
                errno,
                (badIndex > 0 ? "Requests 0 to " + (badIndex - 1) + " are posted. " : "") + cure(errno));
        this.badIndex = badIndex;
    }

    /** Returns {@link Cause#DEFECT}: whoever posted more, or other requests, than the queue pair takes made a mistake. */
    @Override
    public Cause rdmaCause() {
        return Cause.DEFECT;
    }

    private static String cure(int errno) {
        return switch (errno) {
            case 12 -> "The queue is full: poll completions first, or create it with more entries.";
            case 22 ->
                "The request does not fit the queue pair: check its state, the number of segments, the length of inline"
                        + " data and the operation.";
            default -> "";
        };
    }

    /** Returns the index in the posted list of the first request that was refused; -1 if the provider did not say. */
    public int badIndex() {
        return badIndex;
    }
}
