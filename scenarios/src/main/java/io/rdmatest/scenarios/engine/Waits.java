package io.rdmatest.scenarios.engine;

import java.time.Duration;

/** Arithmetic of deadlines on the scale of {@link System#nanoTime}. */
public final class Waits {

    private Waits() {}

    /** Returns the time of {@link System#nanoTime} at which a timeout that begins now is over. */
    public static long deadline(Duration timeout) {
        return System.nanoTime() + timeout.toNanos();
    }

    /** Returns what is left until a deadline, zero if it has passed. */
    public static Duration remaining(long deadline) {
        return Duration.ofNanos(Math.max(0, deadline - System.nanoTime()));
    }
}
