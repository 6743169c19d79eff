package io.rdmatest.scenarios.engine;

/** How a side waits for completions. */
public enum Waiting {
    /** Polls for completions, and yields the processor after a while. */
    POLLING,

    /** Sleeps until the completion channel has an event, in every wait, even if polling would be faster. */
    EVENTS,

    /**
     * Polls for about as long as sleeping and waking up takes, then {@link #EVENTS}. Fast completions need no system
     * call, and slow ones leave the processor to other threads.
     */
    POLLING_FIRST
}
