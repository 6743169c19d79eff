package io.rdmatest.peer;

import io.rdmatest.Cause;

/**
 * Signals a failure on another node. It has the cause and the message that the failure has there. The printed stack trace has the
 * node, the stack trace there, and the diagnosis.
 */
public final class RemoteFailureException extends RuntimeException implements Cause.Carrier {

    private static final long serialVersionUID = 1L;

    /** Prints the origin in the stack trace, and nowhere else. */
    private static final class Origin extends RuntimeException {

        private static final long serialVersionUID = 1L;

        Origin(String message) {
            super(message, null, false, false);
        }

        @Override
        public String toString() {
            return String.valueOf(getMessage());
        }
    }

    private final Cause rdmaCause;
    private final String node;
    private final String stack;
    private final String diagnosis;

    RemoteFailureException(PeerFailure failure, String node, String diagnosis) {
        super(failure.text());
        this.rdmaCause = Cause.named(failure.cause()).orElse(Cause.DEFECT);
        this.node = node;
        this.stack = failure.stack();
        this.diagnosis = diagnosis;
        addSuppressed(new Origin("on " + node + System.lineSeparator() + stack.strip()
                + (diagnosis.isBlank() ? "" : System.lineSeparator() + diagnosis.strip())));
    }

    /** Returns the cause that the failure has on its node; {@link Cause#DEFECT} if this release does not know it. */
    @Override
    public Cause rdmaCause() {
        return rdmaCause;
    }

    /** Returns the node, with its host and process. */
    public String node() {
        return node;
    }

    /** Returns the printed stack trace of the node. */
    public String stack() {
        return stack;
    }

    /** Returns the node's diagnosis after the failure, and its last log lines; may be empty. */
    public String diagnosis() {
        return diagnosis;
    }
}
