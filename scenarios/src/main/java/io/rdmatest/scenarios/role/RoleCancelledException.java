package io.rdmatest.scenarios.role;

import io.rdmatest.Cause;

/**
 * Ends a role because the scenario was cancelled. The reason is the failure of another side, never this exception.
 */
public final class RoleCancelledException extends RuntimeException implements Cause.Carrier {

    private static final long serialVersionUID = 1L;

    /** Creates the exception. */
    public RoleCancelledException() {
        super("The scenario was cancelled because another side of it failed");
    }

    @Override
    public Cause rdmaCause() {
        return Cause.INTERRUPTED;
    }
}
