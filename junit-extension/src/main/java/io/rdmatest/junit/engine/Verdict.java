package io.rdmatest.junit.engine;

import io.rdmatest.Cause;
import io.rdmatest.junit.ReportKeys;
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
    public static boolean isFabricFailure(Throwable thrown) {
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
        if (cause instanceof AssertionError || cause instanceof TestAbortedException) {
            return cause;
        }
        return isFabricFailure(thrown)
                ? new AssertionFailedError(explain.apply(String.valueOf(cause.getMessage())), thrown)
                : thrown;
    }

    /** Publishes what went wrong, for the listeners that sum up the run. */
    static void publishCause(ExtensionContext context, Throwable failure) {
        context.publishReportEntry(ReportKeys.CAUSE, why(failure).name());
    }
}
