package io.rdmatest.scenarios.pairs;

import io.rdmatest.Cause;

/** Says that pairs of a fabric are bad. */
public final class BadPairsError extends AssertionError implements Cause.Carrier {

    private static final long serialVersionUID = 1L;

    private final Cause cause;

    /**
     * Creates the error.
     *
     * @param message names the pairs
     * @param cause the cause of the first of them
     */
    public BadPairsError(String message, Cause cause) {
        super(message);
        this.cause = cause;
    }

    @Override
    public Cause rdmaCause() {
        return cause;
    }
}
