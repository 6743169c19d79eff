package io.rdmatest.junit;

import io.rdmatest.Cause;
import org.opentest4j.AssertionFailedError;

/** Says that the fabric broke a promise, and which: the test is failed. */
public final class FabricError extends AssertionFailedError implements Cause.Carrier {

    private static final long serialVersionUID = 1L;

    private final Cause cause;

    /**
     * Create the error.
     *
     * @param cause what went wrong, with the verdict {@link Cause.Verdict#FAILED}; never null
     * @param message what was promised and what was found; neither null nor empty
     */
    public FabricError(Cause cause, String message) {
        super(message);
        this.cause = cause;
    }

    @Override
    public Cause rdmaCause() {
        return cause;
    }
}
