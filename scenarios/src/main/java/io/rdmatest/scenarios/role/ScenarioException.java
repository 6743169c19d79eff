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

    /** The reason why the role ended. */
    public enum Reason {

        /** No listener, no client, or no answer before data flowed. */
        PEER_ABSENT(Cause.PEER_ABSENT),

        /** The device, the kernel or the fabric cannot do this. */
        UNSUPPORTED(Cause.UNSUPPORTED),

        /** The listener rejected. */
        REJECTED(Cause.REJECTED),

        /** The address has no route over an RDMA device. */
        NO_ROUTE(Cause.NO_ROUTE),

        /** A connection is on another device, port or GID than the one under test. */
        WRONG_DEVICE(Cause.WRONG_DEVICE),

        /** The peer disconnected or stopped acknowledging in the middle of the transfer. */
        PEER_LOST(Cause.PEER_LOST),

        /** The message is too large for the peer or the path MTU. */
        SIZE_REFUSED(Cause.SIZE_REFUSED),

        /** A host was too busy to measure. */
        HOST_BUSY(Cause.HOST_BUSY),

        /** Each attempt of a measurement showed something else. */
        ATTEMPTS_DISAGREE(Cause.ATTEMPTS_DISAGREE),

        /** This host can't run it: no device, no library, too little lockable memory, no permission. */
        HOST_NOT_READY(Cause.HOST_NOT_READY);

        private final Cause cause;

        Reason(Cause cause) {
            this.cause = cause;
        }
    }

    private final Reason reason;

    /**
     * Creates the exception without an underlying failure.
     *
     * @param reason the class of reason
     * @param message one sentence that names the cause and the cure
     */
    public ScenarioException(Reason reason, String message) {
        super(message);
        this.reason = reason;
    }

    /**
     * Creates the exception.
     *
     * @param reason the class of reason
     * @param message one sentence that names the cause and the cure
     * @param cause the underlying failure; may be null
     */
    public ScenarioException(Reason reason, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.reason = reason;
    }

    /** Returns the class of reason. */
    public Reason reason() {
        return reason;
    }

    @Override
    public Cause rdmaCause() {
        return reason.cause;
    }
}
