package io.rdmatest.scenarios.pairs;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Ends an attempt to measure a pair. Its cause is the failure; beside it stands what was measured until then. */
public final class FailedAttemptException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final transient Sample until;
    private final @Nullable String pattern;

    /**
     * Creates the exception.
     *
     * @param failure how the attempt ended
     * @param until what was measured until then, and the delay of the hosts; times are NaN if there are none
     * @param pattern what passes and what does not, as a clause; null if nothing is known of it
     */
    public FailedAttemptException(Throwable failure, Sample until, @Nullable String pattern) {
        super(failure.getMessage(), failure);
        this.until = until;
        this.pattern = pattern;
    }

    Throwable failure() {
        return Objects.requireNonNull(getCause());
    }

    Sample until() {
        return until;
    }

    @Nullable
    String pattern() {
        return pattern;
    }
}
