package io.rdmatest.stream;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** The deadline of a wait. */
final class Deadline {

    /** Longer timeouts are cut to a year, so that differences of nanoTime do not overflow. */
    private static final Duration LONGEST = Duration.ofDays(365);

    private final Duration timeout;
    private final long end;

    private Deadline(Duration timeout) {
        if (timeout.isNegative()) {
            throw new IllegalArgumentException("a timeout can't be negative: " + timeout);
        }
        this.timeout = timeout;
        this.end = System.nanoTime() + (timeout.compareTo(LONGEST) > 0 ? LONGEST : timeout).toNanos();
    }

    static Deadline after(Duration timeout) {
        return new Deadline(timeout);
    }

    Duration remaining() {
        return Duration.ofNanos(Math.max(0, end - System.nanoTime()));
    }

    /** Returns the remaining time in milliseconds, at most a slice; at least 1 unless the time is over. */
    int millis(int slice) {
        long left = end - System.nanoTime();
        return left <= 0 ? 0 : (int) Math.min(slice, TimeUnit.NANOSECONDS.toMillis(left) + 1);
    }

    /** Ends the wait if the time is over or the thread interrupted. */
    void check(String awaited, Supplier<String> lastSeen) {
        if (System.nanoTime() - end >= 0) {
            throw new RdmaTimeoutException(awaited, timeout, lastSeen.get());
        }
        if (Thread.currentThread().isInterrupted()) {
            throw new RdmaException(Cause.INTERRUPTED, "interrupted while waiting for " + awaited);
        }
    }
}
