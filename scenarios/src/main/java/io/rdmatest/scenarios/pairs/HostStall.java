package io.rdmatest.scenarios.pairs;

import java.util.concurrent.locks.LockSupport;

/**
 * Measures for how long the host kept this process from running: a thread parks for 10 ms again and again, and the time beyond that
 * is the host's own delay. It runs beside a measurement, until it is closed. Steal of a hypervisor, other processes and pauses of
 * the JVM look alike, and none of them is the fabric's.
 */
public final class HostStall implements AutoCloseable {

    private static final long STEP_NANOS = 10_000_000;

    private final Thread thread;
    private final long begin = System.nanoTime();
    private volatile boolean ended;
    private long longest;
    private long total;

    private HostStall() {
        thread = Thread.ofPlatform().daemon().name("host-stall").unstarted(this::watch);
    }

    /** Begins to measure. */
    public static HostStall begin() {
        HostStall stall = new HostStall();
        stall.thread.start();
        return stall;
    }

    private void watch() {
        long before = System.nanoTime();
        while (!ended) {
            LockSupport.parkNanos(STEP_NANOS);
            long now = System.nanoTime();
            note(now - before - STEP_NANOS);
            before = now;
        }
    }

    private void note(long delay) {
        if (delay > 0) {
            total += delay;
            longest = Math.max(longest, delay);
        }
    }

    /** Ends the measurement and returns it. */
    public Delay end() {
        close();
        return new Delay(longest, total, System.nanoTime() - begin);
    }

    /**
     * Ends the measurement. The thread ends at its next step.
     */
    @Override
    public void close() {
        ended = true;
        LockSupport.unpark(thread);
        try {
            thread.join();
        } catch (InterruptedException e) {
            // The thread ends by itself.
            Thread.currentThread().interrupt();
        }
    }

    /**
     * The delay of a host during a measurement.
     *
     * @param longest the longest delay in nanoseconds
     * @param total the sum of all delays in nanoseconds
     * @param elapsed how long was measured, in nanoseconds
     */
    public record Delay(long longest, long total, long elapsed) {

        /** Nothing was measured, or the host was never late. */
        public static final Delay NONE = new Delay(0, 0, 0);

        /** Returns the worse of two hosts in each member. */
        public Delay worse(Delay other) {
            return new Delay(
                    Math.max(longest, other.longest), Math.max(total, other.total), Math.max(elapsed, other.elapsed));
        }
    }
}
