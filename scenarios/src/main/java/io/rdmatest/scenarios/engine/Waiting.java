package io.rdmatest.scenarios.engine;

/** How a side waits for completions. */
public enum Waiting {
    /** Polls until they are there, and yields its processor after a while. */
    POLLING,

    /** Sleeps until the completion channel brings an event: for each wait one, also where polling would be faster. */
    EVENTS,

    /**
     * Polls for about as long as going to sleep and waking up takes, then {@link #EVENTS}: what comes soon costs no system call
     * and its latency is that of the fabric, and a wait for something slow leaves the processor to others.
     */
    POLLING_FIRST
}
