package io.rdmatest.scenarios.role;

import io.rdmatest.Cause;
import org.jspecify.annotations.Nullable;

/**
 * Ends a role for a reason that is neither a failed data transfer nor a defect: the peer is absent, rejects or
 * disconnects, or something is not supported.
 *
 * <p>The message is one sentence with the cause and the cure. Failures of the fabric itself are {@link AssertionError}s
 * or {@link io.rdmatest.verbs.WorkCompletionException}s.
 */
public final class ScenarioException extends RuntimeException implements Cause.Carrier {

    private static final long serialVersionUID = 1L;

    private final Cause rdmaCause;

    /**
     * Creates the exception without an underlying failure.
     *
     * @param why what went wrong
     * @param message one sentence that names the cause and the cure
     */
    public ScenarioException(Cause why, String message) {
        super(message);
        this.rdmaCause = why;
    }

    /**
     * Creates the exception.
     *
     * @param why what went wrong
     * @param message one sentence that names the cause and the cure
     * @param cause the underlying failure; may be null
     */
    public ScenarioException(Cause why, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.rdmaCause = why;
    }

    @Override
    public Cause rdmaCause() {
        return rdmaCause;
    }
}
