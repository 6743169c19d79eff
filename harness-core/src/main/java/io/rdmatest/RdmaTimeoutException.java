package io.rdmatest;

import java.time.Duration;

/**
 * Signals that an awaited event did not happen before its deadline.
 *
 * <p>A wait that gave up before its deadline is a defect of rdmatest, {@link Cause#DEFECT}, and says nothing about the fabric.
 */
public final class RdmaTimeoutException extends RuntimeException implements Cause.Carrier {

    private static final long serialVersionUID = 1L;

    private final String awaited;
    private final Duration waited;
    private final Cause rdmaCause;

    /**
     * Creates the exception.
     *
     * @param awaited what was awaited, for example {@code "2 completions on cq rxe0/4"}
     * @param deadline the deadline of the wait, which has passed
     * @param lastSeen what was seen instead; may be empty
     */
    public RdmaTimeoutException(String awaited, Deadline deadline, String lastSeen) {
        this(Cause.TIMEOUT, awaited, deadline, lastSeen);
    }

    /**
     * Creates the exception with a cause, for example that the peer is absent.
     *
     * @param cause what went wrong
     * @param awaited what was awaited
     * @param deadline the deadline of the wait, which has passed; otherwise the cause is {@link Cause#DEFECT}
     * @param lastSeen what was seen instead; may be empty
     */
    public RdmaTimeoutException(Cause cause, String awaited, Deadline deadline, String lastSeen) {
        this(cause, awaited, deadline, lastSeen, deadline.remaining());
    }

    private RdmaTimeoutException(Cause cause, String awaited, Deadline deadline, String lastSeen, Duration left) {
        this(
                left.isZero() ? cause : Cause.DEFECT,
                awaited,
                deadline.timeout(),
                left.isZero()
                        ? lastSeen
                        : "the wait ended " + left.toMillis()
                                + " ms before its limit, which is a defect of rdmatest and"
                                + " says nothing about the fabric" + (lastSeen.isEmpty() ? "" : "; " + lastSeen));
    }

    private RdmaTimeoutException(Cause cause, String awaited, Duration waited, String lastSeen) {
        super("no " + awaited + " within " + waited.toMillis() + " ms" + (lastSeen.isEmpty() ? "" : "; " + lastSeen));
        this.awaited = awaited;
        this.waited = waited;
        this.rdmaCause = cause;
    }

    /**
     * Creates the exception of a wait whose clock this JVM does not see: the kernel or another process reported the timeout.
     *
     * @param cause what went wrong
     * @param awaited what was awaited
     * @param waited how long the wait was allowed to take
     * @param lastSeen what was seen instead; may be empty
     */
    public static RdmaTimeoutException reported(Cause cause, String awaited, Duration waited, String lastSeen) {
        return new RdmaTimeoutException(cause, awaited, waited, lastSeen);
    }

    @Override
    public Cause rdmaCause() {
        return rdmaCause;
    }

    /** Returns what was awaited. */
    public String awaited() {
        return awaited;
    }

    /** Returns how long the wait was allowed to take. */
    public Duration waited() {
        return waited;
    }
}
