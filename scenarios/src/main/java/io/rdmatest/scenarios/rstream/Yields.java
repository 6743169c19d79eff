package io.rdmatest.scenarios.rstream;

import java.util.function.LongSupplier;

/**
 * How often a thread that polls lets others run: often if there are others. Who has a processor of its own loses tens of
 * microseconds each time, in which most answers come; of many that poll on few processors, each waits for the answer of one that
 * it does not let run.
 *
 * <p>It is measured, not asked for: how long the processor was away tells whether somebody took it.
 */
final class Yields {

    static final int FEWEST_TRIES = 64;
    static final int MOST_TRIES = 4096;

    /** A yield that lasts longer has let another thread poll; what the kernel does in between is shorter. */
    static final long SHARED_NANOS = 50_000;

    private final Runnable yield;
    private final LongSupplier nanoTime;
    private int tries = MOST_TRIES;

    Yields() {
        this(Thread::yield, System::nanoTime);
    }

    /** With another processor to give away, and another clock: for tests. */
    Yields(Runnable yield, LongSupplier nanoTime) {
        this.yield = yield;
        this.nanoTime = nanoTime;
    }

    /** Returns how many vain calls to make before the next yield. */
    int tries() {
        return tries;
    }

    /** Lets others run, and takes note of how long they did. */
    void giveWay() {
        long begin = nanoTime.getAsLong();
        yield.run();
        long nanos = nanoTime.getAsLong() - begin;
        tries = nanos > SHARED_NANOS ? FEWEST_TRIES : Math.min(MOST_TRIES, 2 * tries);
    }
}
