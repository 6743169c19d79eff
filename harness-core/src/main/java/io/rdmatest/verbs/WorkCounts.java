package io.rdmatest.verbs;

import java.util.concurrent.atomic.AtomicLongFieldUpdater;

/**
 * Counts posted and completed work without allocation; for any number of threads. The counts lie side by side in this object:
 * each post and each completion changes one, after the device's work has taken everything else from the caches.
 */
final class WorkCounts {

    private static final AtomicLongFieldUpdater<WorkCounts> SENDS_POSTED = updater("sendsPosted");
    private static final AtomicLongFieldUpdater<WorkCounts> SENDS_COMPLETED = updater("sendsCompleted");
    private static final AtomicLongFieldUpdater<WorkCounts> RECEIVES_POSTED = updater("receivesPosted");
    private static final AtomicLongFieldUpdater<WorkCounts> RECEIVES_COMPLETED = updater("receivesCompleted");
    private static final AtomicLongFieldUpdater<WorkCounts> UNDECIDED = updater("undecided");

    private volatile long sendsPosted;
    private volatile long sendsCompleted;
    private volatile long receivesPosted;
    private volatile long receivesCompleted;
    private volatile long undecided;

    private static AtomicLongFieldUpdater<WorkCounts> updater(String field) {
        return AtomicLongFieldUpdater.newUpdater(WorkCounts.class, field);
    }

    void postSends(int count) {
        if (count != 0) {
            long ignored = SENDS_POSTED.getAndAdd(this, count);
        }
    }

    void postReceives(int count) {
        if (count != 0) {
            long ignored = RECEIVES_POSTED.getAndAdd(this, count);
        }
    }

    void completed(boolean receive, boolean sure) {
        AtomicLongFieldUpdater<WorkCounts> counter = !sure ? UNDECIDED : receive ? RECEIVES_COMPLETED : SENDS_COMPLETED;
        long ignored = counter.getAndIncrement(this);
    }

    OutstandingWork get() {
        return new OutstandingWork(sendsPosted, sendsCompleted, receivesPosted, receivesCompleted, undecided);
    }

    void reset() {
        sendsPosted = 0;
        sendsCompleted = 0;
        receivesPosted = 0;
        receivesCompleted = 0;
        undecided = 0;
    }
}
