package io.rdmatest.verbs;

import java.util.concurrent.atomic.AtomicLong;

/** Counts posted and completed work without allocation; for any number of threads. */
final class WorkCounts {

    private final AtomicLong sendsPosted = new AtomicLong();
    private final AtomicLong sendsCompleted = new AtomicLong();
    private final AtomicLong receivesPosted = new AtomicLong();
    private final AtomicLong receivesCompleted = new AtomicLong();
    private final AtomicLong undecided = new AtomicLong();

    void postSends(int count) {
        if (count != 0) {
            long ignored = sendsPosted.getAndAdd(count);
        }
    }

    void postReceives(int count) {
        if (count != 0) {
            long ignored = receivesPosted.getAndAdd(count);
        }
    }

    void completed(boolean receive, boolean sure) {
        AtomicLong counter = !sure ? undecided : receive ? receivesCompleted : sendsCompleted;
        long ignored = counter.getAndIncrement();
    }

    OutstandingWork get() {
        return new OutstandingWork(
                sendsPosted.get(),
                sendsCompleted.get(),
                receivesPosted.get(),
                receivesCompleted.get(),
                undecided.get());
    }

    void reset() {
        sendsPosted.set(0);
        sendsCompleted.set(0);
        receivesPosted.set(0);
        receivesCompleted.set(0);
        undecided.set(0);
    }
}
