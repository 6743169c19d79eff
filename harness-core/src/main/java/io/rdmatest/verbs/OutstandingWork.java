package io.rdmatest.verbs;

/**
 * How many requests were posted to a queue, and how many of them have completed. Only completions that somebody polled count.
 *
 * <p>A send that is not signaled gives no completion unless it fails: it counts as posted only.
 *
 * @param sendsPosted sends that the provider accepted
 * @param sendsCompleted completions of sends
 * @param receivesPosted receives that the provider accepted; 0 with a shared receive queue, which counts its own
 * @param receivesCompleted completions of receives
 * @param undecided failed completions on a completion queue that sends and receives share: the specification leaves the operation
 *     of a failed completion undefined
 * @param unsignaled those of the posted sends that give no completion unless they fail
 */
public record OutstandingWork(
        long sendsPosted,
        long sendsCompleted,
        long receivesPosted,
        long receivesCompleted,
        long undecided,
        long unsignaled) {

    /** Returns how many sends have not completed, at least 0; unsignaled ones count until the end. */
    public long sends() {
        return Math.max(0, sendsPosted - sendsCompleted);
    }

    /** Returns how many sends will still give a completion if all goes well, at least 0. */
    public long signaled() {
        return Math.max(0, sendsPosted - unsignaled - sendsCompleted);
    }

    /** Returns how many receives have not completed, at least 0. */
    public long receives() {
        return Math.max(0, receivesPosted - receivesCompleted);
    }

    /** Returns both counts in words. */
    @Override
    public String toString() {
        return "sends: " + sendsPosted + " posted, " + sendsCompleted + " completed"
                + (unsignaled == 0 ? "" : ", " + unsignaled + " without SIGNALED") + "; receives: " + receivesPosted
                + " posted, " + receivesCompleted + " completed"
                + (undecided == 0 ? "" : "; " + undecided + " failed completions of either");
    }
}
