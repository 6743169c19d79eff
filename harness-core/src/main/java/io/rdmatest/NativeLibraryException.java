package io.rdmatest;

/** Signals that librdmacm or libibverbs can't be loaded; the message names the package to install. */
public final class NativeLibraryException extends RdmaException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates the exception.
     *
     * @param message names the missing library and its package
     * @param cause the JVM's own exception
     */
    public NativeLibraryException(String message, Throwable cause) {
        super(message);
        initCause(cause);
    }
}
