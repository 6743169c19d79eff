package io.rdmatest.verbs;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Counts posted and completed work without allocation; for any number of threads.
 *
 * <p>The user of a queue, as {@link io.rdmatest.NativeResource#enterOften()} tells it, counts without a locked instruction. All
 * other threads count atomically, in a separate counter.
 */
final class WorkCounts {

    private static final VarHandle ALONE;
    private static final VarHandle OTHERS;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            ALONE = lookup.findVarHandle(Counter.class, "alone", long.class);
            OTHERS = lookup.findVarHandle(Counter.class, "others", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /**
     * {@code alone} has one writer at a time: for posts the user of the queue, for completions the user of the completion queue.
     */
    private static final class Counter {
        private long alone;

        @SuppressWarnings("unused") // through OTHERS
        private volatile long others;

        private volatile long start;

        void add(boolean uncontended, int count) {
            if (uncontended) {
                ALONE.setRelease(this, alone + count);
            } else {
                long ignored = (long) OTHERS.getAndAdd(this, (long) count);
            }
        }

        private long sum() {
            return (long) ALONE.getAcquire(this) + others;
        }

        long get() {
            return sum() - start;
        }

        /** Moves the start instead of clearing the counts: the one writer does not check whether another thread writes. */
        void reset() {
            start = sum();
        }
    }

    private final Counter sendsPosted = new Counter();
    private final Counter sendsCompleted = new Counter();
    private final Counter receivesPosted = new Counter();
    private final Counter receivesCompleted = new Counter();
    private final Counter undecided = new Counter();
    private final Counter unsignaled = new Counter();

    void postSends(boolean alone, int count) {
        sendsPosted.add(alone, count);
    }

    void postUnsignaled(boolean alone, int count) {
        unsignaled.add(alone, count);
    }

    void postReceives(boolean alone, int count) {
        receivesPosted.add(alone, count);
    }

    void completed(boolean alone, int sends, int receives, int failed) {
        if (sends != 0) {
            sendsCompleted.add(alone, sends);
        }
        if (receives != 0) {
            receivesCompleted.add(alone, receives);
        }
        if (failed != 0) {
            undecided.add(alone, failed);
        }
    }

    OutstandingWork get() {
        return new OutstandingWork(
                sendsPosted.get(),
                sendsCompleted.get(),
                receivesPosted.get(),
                receivesCompleted.get(),
                undecided.get(),
                unsignaled.get());
    }

    void reset() {
        sendsPosted.reset();
        sendsCompleted.reset();
        receivesPosted.reset();
        receivesCompleted.reset();
        undecided.reset();
        unsignaled.reset();
    }
}
