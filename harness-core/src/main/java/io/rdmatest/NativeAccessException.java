package io.rdmatest;

/** Signals that the JVM denies this library calls to native code; the message names the option that permits them. */
public final class NativeAccessException extends RdmaException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates the exception.
     *
     * @param message names the option of the JVM
     * @param cause what the JVM said
     */
    public NativeAccessException(String message, Throwable cause) {
        super(message);
        initCause(cause);
    }
}
