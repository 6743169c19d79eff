package io.rdmatest;

/** Signals that the JVM denies native calls to this library; the message names the option that permits them. */
public final class NativeAccessException extends RdmaException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates the exception.
     *
     * @param message names the JVM option
     * @param cause the JVM's own exception
     */
    public NativeAccessException(String message, Throwable cause) {
        super(message);
        initCause(cause);
    }
}
