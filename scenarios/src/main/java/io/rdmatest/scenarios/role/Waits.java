package io.rdmatest.scenarios.role;

import java.time.Duration;

/** Arithmetic of deadlines on the scale of {@link System#nanoTime}. */
final class Waits {

    private Waits() {}

    static long deadline(Duration timeout) {
        return System.nanoTime() + timeout.toNanos();
    }

    /** Returns what is left until a deadline, zero if it has passed. */
    static Duration remaining(long deadline) {
        return Duration.ofNanos(Math.max(0, deadline - System.nanoTime()));
    }
}
