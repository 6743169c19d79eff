package io.rdmatest.scenarios.cprogram;

/** Signals that the output of a C program is unknown or incomplete. */
public final class ProgramOutputException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates the exception.
     *
     * @param message one sentence that quotes the line
     */
    public ProgramOutputException(String message) {
        super(message);
    }
}
