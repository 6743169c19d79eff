package io.rdmatest.report.run;

import com.fasterxml.jackson.annotation.JsonValue;
import io.rdmatest.Cause;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.TestExecutionResult;

/** How a scenario ended. */
public enum Verdict {
    /** Every promise was kept. */
    PASSED,
    /** The fabric broke a promise. */
    FAILED,
    /** The harness or the host is broken, or the scenario started and never finished. */
    BROKEN,
    /** It was not run; the reason says why. */
    SKIPPED;

    /**
     * Returns the verdict's name in {@code qualification.json} and in the report.
     *
     * @return the name, in lower case
     */
    @JsonValue
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * Decides how a test ended.
     *
     * @param result what JUnit says
     * @param cause why it failed; null if it did not
     */
    public static Verdict of(TestExecutionResult result, @Nullable Cause cause) {
        return switch (result.getStatus()) {
            case SUCCESSFUL -> PASSED;
            case ABORTED -> SKIPPED;
            case FAILED -> cause != null && cause.verdict() == Cause.Verdict.FAILED ? FAILED : BROKEN;
        };
    }
}
