package io.rdmatest.scenarios.engine;

import io.rdmatest.Cause;
import org.jspecify.annotations.Nullable;

/**
 * Ends a role for a reason that is neither a fault of the fabric nor a defect: the peer is not there, says no, or goes away, or
 * something on the way cannot do what was asked.
 *
 * <p>The message is one sentence that names the cause and the cure. What the fabric itself breaks is an
 * {@link AssertionError} or a {@link io.rdmatest.WorkCompletionException} instead.
 */
public final class ScenarioException extends RuntimeException implements Cause.Carrier {

    private static final long serialVersionUID = 1L;

    /** What kept the role from doing its work. */
    public enum Reason {

        /** Nobody listens, or nobody came or answered before any data flowed. */
        PEER_ABSENT(Cause.PEER_ABSENT),

        /** The device, the kernel or the fabric cannot do this. */
        UNSUPPORTED(Cause.UNSUPPORTED),

        /** Somebody listens, and refuses. */
        REJECTED(Cause.REJECTED),

        /** The address has no route over an RDMA device. */
        NO_ROUTE(Cause.NO_ROUTE),

        /** A connection is on another device, port or GID than the one under test. */
        WRONG_DEVICE(Cause.WRONG_DEVICE),

        /** The peer disconnected or stopped acknowledging in the middle of the transfer. */
        PEER_LOST(Cause.PEER_LOST),

        /** The peer, or the path's MTU, takes no message of this size. */
        SIZE_REFUSED(Cause.SIZE_REFUSED),

        /** This host cannot run it: no device, no library, too little memory to lock, no permission. */
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
     * @param cause the failure that showed it; may be null
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
