package io.rdmatest.report.run;

import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** What a run says about the fabric: the one table of words, exit status, colour, and what it is worth for a node. */
public enum Outcome {
    /** All scenarios were asked for, on the fabric's own devices, and every one that was judged passed. */
    QUALIFIED("qualified", 0, "good", null, null),

    /** What was judged passed, but on a software device, in a virtual machine that the project started or on a host. */
    REHEARSED(
            "rehearsed",
            0,
            "neutral",
            "this says nothing about a fabric",
            "Run ./qualify on a host with RDMA hardware. A rehearsal says nothing about a node."),

    /** What was judged passed, but scenarios were left out by a selection. */
    PARTIAL(
            "partial",
            0,
            "neutral",
            "a partial run qualifies nothing",
            "Run ./qualify without --scenario and --last-failed. A partial run is too little to call a node good."),

    /** The fabric broke a promise: at least one scenario failed. */
    NOT_QUALIFIED("not qualified", 1, "bad", null, null),

    /** Nothing failed, but scenarios are broken or were not run, or none was judged at all. */
    INCONCLUSIVE("inconclusive", 4, "unsure", null, null);

    private final String words;
    private final int status;
    private final String tone;
    private final @Nullable String caveat;
    private final @Nullable String instead;

    Outcome(String words, int status, String tone, @Nullable String caveat, @Nullable String instead) {
        this.words = words;
        this.status = status;
        this.tone = tone;
        this.caveat = caveat;
        this.instead = instead;
    }

    /** Returns the outcome with these words; null if there is none, as in a summary of another build. */
    public static @Nullable Outcome of(String words) {
        return Arrays.stream(values())
                .filter(each -> each.words.equals(words))
                .findFirst()
                .orElse(null);
    }

    /** Returns the exit status of {@code ./qualify}. */
    public int status() {
        return status;
    }

    /** Returns the class of its colour on the page. */
    public String tone() {
        return tone;
    }

    /** Returns why a run of this kind is no qualification, however well it went; null if it can be one. */
    public @Nullable String caveat() {
        return caveat;
    }

    /** Returns what to do to learn something of a node with which everything passed; null if that node is good. */
    public @Nullable String instead() {
        return instead;
    }

    /** Returns the outcome in words, as {@code qualification.json} has it. */
    @JsonValue
    @Override
    public String toString() {
        return words;
    }
}
