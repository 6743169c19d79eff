package io.rdmatest.peer;

import io.rdmatest.Cause;

/** Signals a failure on another node whose type is not registered; the message begins with its type. */
public final class RemoteFailureException extends RuntimeException implements Cause.Carrier {

    private static final long serialVersionUID = 1L;

    private final String type;
    private final Cause rdmaCause;

    RemoteFailureException(String type, String message, Cause rdmaCause) {
        super(message.isEmpty() ? type : type + ": " + message);
        this.type = type;
        this.rdmaCause = rdmaCause;
    }

    /** Returns the cause that the failure had on its node. */
    @Override
    public Cause rdmaCause() {
        return rdmaCause;
    }

    /** Returns the name of the class that the failure had on its node. */
    public String type() {
        return type;
    }
}
