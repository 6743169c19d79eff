package io.rdmatest.verbs;

/**
 * How much work a queue was given, and how much of it has come back as completions that somebody polled.
 *
 * <p>A send that is not signaled gives no completion unless it fails: it counts as posted only.
 *
 * @param sendsPosted sends that the provider accepted
 * @param sendsCompleted completions of sends
 * @param receivesPosted receives that the provider accepted; 0 with a shared receive queue, which counts its own
 * @param receivesCompleted completions of receives
 * @param undecided failed completions from a queue that takes those of sends and of receives: the specification leaves
 *     undefined which operation a failed one had
 */
public record OutstandingWork(
        long sendsPosted, long sendsCompleted, long receivesPosted, long receivesCompleted, long undecided) {

    /** Returns how many sends have not completed, at least 0; unsignaled ones count until the end. */
    public long sends() {
        return Math.max(0, sendsPosted - sendsCompleted);
    }

    /** Returns how many receives have not completed, at least 0. */
    public long receives() {
        return Math.max(0, receivesPosted - receivesCompleted);
    }

    /** Returns both as a person would say it. */
    @Override
    public String toString() {
        return "sends: " + sendsPosted + " posted, " + sendsCompleted + " completed; receives: " + receivesPosted
                + " posted, " + receivesCompleted + " completed"
                + (undecided == 0 ? "" : "; " + undecided + " failed completions of either");
    }
}
