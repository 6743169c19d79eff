package io.rdmatest.scenarios.rstream;

import java.util.function.LongSupplier;

/**
 * Decides how often a polling thread yields: often if other threads need the processor. With its own processor a thread
 * would lose tens of microseconds with each yield. On few processors a polling thread must yield, since its answer
 * comes from a thread that needs the processor.
 *
 * <p>It measures the duration of each yield: a long one means that another thread ran.
 */
final class Yields {

    static final int FEWEST_TRIES = 64;
    static final int MOST_TRIES = 4096;

    /** A longer yield means that another thread has polled; work of the kernel is shorter. */
    static final long SHARED_NANOS = 50_000;

    private final Runnable yield;
    private final LongSupplier nanoTime;
    private int tries = MOST_TRIES;

    Yields() {
        this(Thread::yield, System::nanoTime);
    }

    /** Takes another yield and another clock, for tests. */
    Yields(Runnable yield, LongSupplier nanoTime) {
        this.yield = yield;
        this.nanoTime = nanoTime;
    }

    /** Returns the number of calls without progress before the next yield. */
    int tries() {
        return tries;
    }

    /** Yields, and measures the duration. */
    void giveWay() {
        long begin = nanoTime.getAsLong();
        yield.run();
        long nanos = nanoTime.getAsLong() - begin;
        tries = nanos > SHARED_NANOS ? FEWEST_TRIES : Math.min(MOST_TRIES, 2 * tries);
    }
}
