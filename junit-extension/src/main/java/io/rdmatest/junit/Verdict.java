package io.rdmatest.junit;

import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.WorkCompletionException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.function.UnaryOperator;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

/**
 * Tells a fabric that broke its promise (failed) from a harness or host that is broken.
 *
 * <p>The harness has no JUnit and throws the same exceptions whoever calls it. In the body of a test a completion in error,
 * another CM event than the awaited one, and an event that did not come are what the test was there to find.
 */
final class Verdict {

    private Verdict() {}

    /** Returns what lies below the wrapping that other threads' exceptions come in. */
    static Throwable cause(Throwable thrown) {
        Throwable cause = thrown;
        while ((cause instanceof ExecutionException || cause instanceof CompletionException)
                && cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause;
    }

    private static boolean isOfFabric(Throwable cause) {
        return cause instanceof WorkCompletionException
                || cause instanceof UnexpectedCmEventException
                || cause instanceof RdmaTimeoutException;
    }

    /** Returns whether the fabric is to blame, as opposed to the harness, the host or the test. */
    static boolean isFabricFailure(Throwable thrown) {
        return of(thrown) instanceof AssertionError;
    }

    /** Returns what a test body's exception has to become: itself, or an assertion error with the same message. */
    static Throwable of(Throwable thrown) {
        return of(thrown, UnaryOperator.identity());
    }

    /**
     * Returns what a test body's exception has to become.
     *
     * @param thrown the exception
     * @param explain makes the message of an assertion error out of that of the harness's exception
     */
    static Throwable of(Throwable thrown, UnaryOperator<String> explain) {
        Throwable cause = cause(thrown);
        if (isOfFabric(cause)) {
            return new AssertionFailedError(explain.apply(String.valueOf(cause.getMessage())), thrown);
        }
        // What another thread of the test asserted, or why it gave up, keeps its colour.
        return cause instanceof AssertionError || cause instanceof TestAbortedException ? cause : thrown;
    }
}
