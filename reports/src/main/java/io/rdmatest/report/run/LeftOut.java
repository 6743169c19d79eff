package io.rdmatest.report.run;

import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The reasons of skips that do not belong to the run. Neither its summary nor its report has these tests. */
public final class LeftOut {

    /** An earlier JVM of the run began the test. */
    public static final String BEGUN = "begun by an earlier JVM of this run";

    /** The test was not asked for by its name. */
    public static final String NOT_SELECTED = "not asked for in this run";

    private static final Set<String> REASONS = Set.of(BEGUN, NOT_SELECTED);

    private LeftOut() {}

    /** Tells whether a test was skipped for such a reason. */
    public static boolean is(@Nullable String reason) {
        return reason != null && REASONS.contains(reason);
    }
}
