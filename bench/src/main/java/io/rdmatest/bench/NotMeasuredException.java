package io.rdmatest.bench;

import io.rdmatest.RdmaException;
import io.rdmatest.scenarios.cprogram.ProgramOutputException;
import org.jspecify.annotations.Nullable;

/** Says why a row could not be measured: the C program is not installed, failed, or printed something unknown. */
final class NotMeasuredException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates the exception.
     *
     * @param message one sentence with the cause
     */
    public NotMeasuredException(String message) {
        this(message, null);
    }

    /**
     * Creates the exception.
     *
     * @param message one sentence with the cause
     * @param cause what happened
     */
    public NotMeasuredException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    /** Returns in one line why a row was not measured. What tells its cause in words needs no name of its class. */
    static String sentence(Throwable failure) {
        String name = failure instanceof NotMeasuredException
                        || failure instanceof ProgramOutputException
                        || failure instanceof RdmaException
                ? ""
                : failure.getClass().getSimpleName() + ": ";
        return (name + failure.getMessage()).strip().replaceAll("\\s*\\R\\s*", "; ");
    }
}
