package io.rdmatest.report.run;

import com.fasterxml.jackson.annotation.JsonValue;

/** What a run says about the fabric. */
public enum Outcome {
    /** Scenarios were judged, and every one of them passed. */
    QUALIFIED("qualified", 0),

    /** The fabric broke a promise: at least one scenario failed. */
    NOT_QUALIFIED("not qualified", 1),

    /** Nothing failed, but scenarios are broken or were not run, or none was judged at all. */
    INCONCLUSIVE("inconclusive", 4);

    private final String words;
    private final int status;

    Outcome(String words, int status) {
        this.words = words;
        this.status = status;
    }

    /** Returns the exit status of {@code ./qualify}. */
    public int status() {
        return status;
    }

    /** Returns the outcome in words, as {@code qualification.json} has it. */
    @JsonValue
    @Override
    public String toString() {
        return words;
    }
}
