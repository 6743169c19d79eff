package io.rdmatest.verbs;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** Counts posted and completed work without allocation; for any number of threads. */
final class WorkCounts {

    private static final VarHandle SENDS_POSTED = counter("sendsPosted");
    private static final VarHandle SENDS_COMPLETED = counter("sendsCompleted");
    private static final VarHandle RECEIVES_POSTED = counter("receivesPosted");
    private static final VarHandle RECEIVES_COMPLETED = counter("receivesCompleted");
    private static final VarHandle UNDECIDED = counter("undecided");

    private volatile long sendsPosted;
    private volatile long sendsCompleted;
    private volatile long receivesPosted;
    private volatile long receivesCompleted;
    private volatile long undecided;

    private static VarHandle counter(String name) {
        try {
            return MethodHandles.lookup().findVarHandle(WorkCounts.class, name, long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    void postSends(int count) {
        if (count != 0) {
            long ignored = (long) SENDS_POSTED.getAndAdd(this, (long) count);
        }
    }

    void postReceives(int count) {
        if (count != 0) {
            long ignored = (long) RECEIVES_POSTED.getAndAdd(this, (long) count);
        }
    }

    void completed(boolean receive, boolean sure) {
        if (!sure) {
            long ignored = (long) UNDECIDED.getAndAdd(this, 1L);
        } else if (receive) {
            long ignored = (long) RECEIVES_COMPLETED.getAndAdd(this, 1L);
        } else {
            long ignored = (long) SENDS_COMPLETED.getAndAdd(this, 1L);
        }
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
