package io.rdmatest.junit.engine;

import io.rdmatest.Cause;
import io.rdmatest.ReportKeys;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

/**
 * Tells a fabric that broke its promise (failed) from a harness, host or test that is broken. The {@link Cause} of a failure
 * decides, wherever in a test it happens.
 */
public final class Verdict {

    private Verdict() {}

    /** Returns what lies below the wrapping that exceptions of other threads, and of injected parameters, come in. */
    static Throwable cause(Throwable thrown) {
        Throwable cause = thrown;
        while ((cause instanceof ExecutionException
                        || cause instanceof CompletionException
                        || cause instanceof ParameterResolutionException)
                && cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause;
    }

    /** Returns what went wrong, with the exceptions of JUnit that the core does not know. */
    public static Cause why(Throwable thrown) {
        Throwable cause = cause(thrown);
        if (cause instanceof TestAbortedException) {
            return Cause.NOT_APPLICABLE;
        }
        return cause instanceof ExtensionConfigurationException || cause instanceof ParameterResolutionException
                ? Cause.MISCONFIGURED
                : Cause.of(thrown);
    }

    /** Returns whether the fabric is to blame, as opposed to the harness, the host or the test. */
    static boolean isFabricFailure(Throwable thrown) {
        return why(thrown).verdict() == Cause.Verdict.FAILED;
    }

    /**
     * Returns what an exception of a test has to become: an assertion error where the fabric is to blame, else itself.
     *
     * @param thrown the exception
     * @param explain makes the message of an assertion error out of that of the harness's exception
     */
    static Throwable of(Throwable thrown, UnaryOperator<String> explain) {
        Throwable cause = cause(thrown);
        // What another thread of the test asserted, or why it gave up, stays as it is.
        if (cause instanceof AssertionError error) {
            return titled(error);
        }
        if (cause instanceof TestAbortedException) {
            return cause;
        }
        return isFabricFailure(thrown)
                ? inPlaceOf(thrown, new AssertionFailedError(explain.apply(String.valueOf(cause.getMessage())), thrown))
                : thrown;
    }

    /** Gives an error the stack trace of what it explains: the line of the test is on its top, where tools look for it. */
    private static AssertionFailedError inPlaceOf(Throwable thrown, AssertionFailedError error) {
        error.setStackTrace(thrown.getStackTrace());
        return error;
    }

    /** AssertJ begins its messages with an empty line, which would be the title of the failure in reports. */
    private static AssertionError titled(AssertionError error) {
        String message = String.valueOf(error.getMessage());
        if (message.isBlank() || !message.startsWith("\n") && !message.startsWith(System.lineSeparator())) {
            return error;
        }
        return inPlaceOf(
                error,
                error instanceof AssertionFailedError failed && failed.isExpectedDefined() && failed.isActualDefined()
                        ? new AssertionFailedError(
                                message.stripLeading(), failed.getExpected(), failed.getActual(), failed)
                        : new AssertionFailedError(message.stripLeading(), error));
    }

    /** Publishes what went wrong, for the listeners that sum up the run. */
    static void publishCause(ExtensionContext context, Throwable failure) {
        context.publishReportEntry(ReportKeys.CAUSE, why(failure).name());
    }
}
