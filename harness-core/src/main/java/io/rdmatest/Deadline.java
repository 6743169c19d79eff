package io.rdmatest;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The deadline of a wait, on the clock of {@link System#nanoTime}. A timeout of more than a year is cut to a year, so that no
 * arithmetic overflows.
 *
 * <p>The static methods do the same for a deadline that is a plain {@code long}. They serve paths that must not allocate.
 */
public final class Deadline {

    private static final Duration LONGEST = Duration.ofDays(365);

    private final Duration timeout;
    private final long end;

    private Deadline(long end, Duration timeout) {
        this.timeout = timeout;
        this.end = end;
    }

    /**
     * Returns the deadline of a wait that begins now.
     *
     * @param timeout the longest time to wait, from 0
     * @throws IllegalArgumentException if it is negative
     */
    public static Deadline after(Duration timeout) {
        return new Deadline(end(timeout), timeout);
    }

    /**
     * Returns a deadline that was kept as a plain {@code long}.
     *
     * @param end what {@link #end(Duration)} returned
     * @param timeout the timeout that it was given
     */
    public static Deadline of(long end, Duration timeout) {
        return new Deadline(end, timeout);
    }

    /** Returns the longest time to wait, counted from the beginning of the wait. */
    public Duration timeout() {
        return timeout;
    }

    /** Returns the remaining time; zero if the deadline has passed. */
    public Duration remaining() {
        return Duration.ofNanos(nanos());
    }

    /** Returns the remaining time in nanoseconds; 0 if the deadline has passed. */
    public long nanos() {
        return nanos(end);
    }

    /** Returns whether the deadline has passed. */
    public boolean isOver() {
        return isOver(end);
    }

    /**
     * Returns the length of the next slice of a wait.
     *
     * @param slice the most milliseconds
     * @return the remaining time in milliseconds, rounded up; at least 1 unless the deadline has passed
     */
    public int millis(int slice) {
        long left = nanos();
        return left == 0 ? 0 : (int) Math.min(slice, TimeUnit.NANOSECONDS.toMillis(left) + 1);
    }

    /**
     * Ends the wait if the deadline has passed or the thread is interrupted.
     *
     * @param awaited what is awaited, for the message
     * @param lastSeen what was seen instead, for the message; may return an empty text
     * @throws RdmaTimeoutException if the deadline has passed
     * @throws RdmaException {@link Cause#INTERRUPTED} if the thread is interrupted; it stays interrupted
     */
    public void check(String awaited, Supplier<String> lastSeen) {
        if (isOver()) {
            throw new RdmaTimeoutException(awaited, this, lastSeen.get());
        }
        if (Thread.currentThread().isInterrupted()) {
            throw new RdmaException(Cause.INTERRUPTED, "interrupted while waiting for " + awaited);
        }
    }

    /**
     * Waits for the end of a thread, also while the caller is interrupted. {@link Thread#isAlive} must not decide afterwards: it may
     * still be true for a moment when a join has returned.
     *
     * @param thread the thread; one that was never started counts as ended
     * @param whenInterrupted runs at each interrupt of the caller, which stays interrupted
     * @return whether it has ended; false if the deadline passed
     */
    public boolean join(Thread thread, Runnable whenInterrupted) {
        boolean interrupted = false;
        try {
            while (thread.getState() != Thread.State.NEW) {
                try {
                    return thread.join(remaining());
                } catch (InterruptedException e) {
                    interrupted = true;
                    whenInterrupted.run();
                }
            }
            return true;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Returns a timeout in nanoseconds, at most a year.
     *
     * @param timeout the longest time to wait, from 0
     * @throws IllegalArgumentException if it is negative
     */
    public static long nanos(Duration timeout) {
        if (timeout.isNegative()) {
            throw new IllegalArgumentException("a timeout can't be negative: " + timeout);
        }
        return (timeout.compareTo(LONGEST) > 0 ? LONGEST : timeout).toNanos();
    }

    /**
     * Returns the end of a wait that begins now, as a value of {@link System#nanoTime}.
     *
     * @param timeout the longest time to wait, from 0
     * @throws IllegalArgumentException if it is negative
     */
    public static long end(Duration timeout) {
        return System.nanoTime() + nanos(timeout);
    }

    /**
     * Returns the nanoseconds until the end of a wait; 0 if it has passed.
     *
     * @param end what {@link #end(Duration)} returned
     */
    public static long nanos(long end) {
        return Math.max(0, end - System.nanoTime());
    }

    /**
     * Returns whether the end of a wait has passed.
     *
     * @param end what {@link #end(Duration)} returned
     */
    public static boolean isOver(long end) {
        return System.nanoTime() - end >= 0;
    }
}
