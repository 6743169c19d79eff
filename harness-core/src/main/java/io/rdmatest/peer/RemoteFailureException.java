package io.rdmatest.peer;

/** Signals a failure on another node whose type is not one of those that are rebuilt; the message begins with its type. */
public final class RemoteFailureException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final String type;

    RemoteFailureException(String type, String message) {
        super(message.isEmpty() ? type : type + ": " + message);
        this.type = type;
    }

    /** Returns the name of the class that the failure had on its node. */
    public String type() {
        return type;
    }
}
