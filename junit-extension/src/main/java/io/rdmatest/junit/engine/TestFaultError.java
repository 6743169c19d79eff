package io.rdmatest.junit.engine;

import io.rdmatest.Cause;

/**
 * Says that the test's own code is at fault, by what it left behind, by not coming to an end, or by work that could not succeed:
 * the test is broken.
 *
 * <p>It is an error because JUnit wraps exceptions that are thrown when a store is closed, and is no assertion error because
 * the fabric broke no promise.
 */
final class TestFaultError extends Error implements Cause.Carrier {

    private static final long serialVersionUID = 1L;

    private final Cause cause;

    TestFaultError(Cause cause, String message) {
        super(message);
        this.cause = cause;
    }

    /** Takes the place of an exception that shows the mistake, with its stack trace: it names the line of the test. */
    TestFaultError(Cause cause, String message, Throwable thrown) {
        super(message, thrown);
        this.cause = cause;
        setStackTrace(thrown.getStackTrace());
    }

    @Override
    public Cause rdmaCause() {
        return cause;
    }
}
