package io.rdmatest.junit.engine;

import io.rdmatest.Cause;

/**
 * Says that the test's own code is at fault, by what it left behind or by not coming to an end: the test is broken.
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

    @Override
    public Cause rdmaCause() {
        return cause;
    }
}
