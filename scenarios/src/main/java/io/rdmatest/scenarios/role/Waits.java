package io.rdmatest.scenarios.role;

import io.rdmatest.Deadline;
import java.time.Duration;

/** Arithmetic of deadlines on the scale of {@link System#nanoTime}. */
public final class Waits {

    private Waits() {}

    /** Returns the deadline, on the scale of {@link System#nanoTime}, of a timeout that begins now. */
    public static long deadline(Duration timeout) {
        return Deadline.end(timeout);
    }

    /** Returns the remaining time until a deadline; zero if it has passed. */
    public static Duration remaining(long deadline) {
        return Duration.ofNanos(Deadline.nanos(deadline));
    }
}
