package io.rdmatest.scenarios.cprogram;

/** Says that a C program printed something that is not known, or not all that it has to print. */
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
