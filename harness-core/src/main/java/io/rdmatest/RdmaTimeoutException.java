package io.rdmatest;

import java.time.Duration;

/** Signals that an awaited event did not happen before its deadline. */
public final class RdmaTimeoutException extends RuntimeException implements Cause.Carrier {

    private static final long serialVersionUID = 1L;

    private final String awaited;
    private final Duration waited;
    private final Cause rdmaCause;

    /**
     * Creates the exception.
     *
     * @param awaited what was awaited, for example {@code "2 completions on cq rxe0/4"}
     * @param waited how long the wait was allowed to take
     * @param lastSeen what was seen instead; may be empty
     */
    public RdmaTimeoutException(String awaited, Duration waited, String lastSeen) {
        this(Cause.TIMEOUT, awaited, waited, lastSeen);
    }

    /**
     * Creates the exception with a cause, for example that the peer is absent.
     *
     * @param cause what went wrong
     * @param awaited what was awaited
     * @param waited how long the wait was allowed to take
     * @param lastSeen what was seen instead; may be empty
     */
    public RdmaTimeoutException(Cause cause, String awaited, Duration waited, String lastSeen) {
        super("no " + awaited + " within " + waited.toMillis() + " ms" + (lastSeen.isEmpty() ? "" : "; " + lastSeen));
        this.awaited = awaited;
        this.waited = waited;
        this.rdmaCause = cause;
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
