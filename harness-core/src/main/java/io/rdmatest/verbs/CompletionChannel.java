package io.rdmatest.verbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdmatest.Deadline;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.ffi.ibv_comp_channel;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.internal.Descriptors;
import io.rdmatest.internal.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Brings the events of completion queues (ibv_create_comp_channel(3), ibv_get_cq_event(3)).
 *
 * <p>Events are acknowledged in batches, as the man page advises, and at the latest before their queue is destroyed. Those of several
 * queues on one channel, awaited by several threads, each reach the thread that waits for its queue.
 */
public final class CompletionChannel extends VerbsObject {

    /** How many events of a queue are acknowledged at a time: each time takes a mutex. */
    private static final int ACKNOWLEDGED_AT_ONCE = 16;

    private static final long SLICE_NANOS = TimeUnit.MILLISECONDS.toNanos(Verbs.SLICE_MILLIS);

    private final DeviceContext context;
    private final int fd;
    /** By the number that the library has for each as its context; guarded by the lock. */
    private @Nullable CompletionQueue[] queues;

    /** Which numbers have a queue, or one that is being created or destroyed. Guarded by the lock. */
    private final BitSet reserved;

    /** Queues with events that nobody has taken, each once, among them some whose events were taken since. Guarded by the lock. */
    private final ArrayDeque<CompletionQueue> ready;

    /** Where ibv_get_cq_event(3) tells the queue, and its context. Guarded by the lock. */
    private final MemorySegment toldQueue;

    private final MemorySegment toldContext;
    private final ReentrantLock lock;
    /** Is signalled when the thread that polls has come back. */
    private final Condition polled;
    /** Whether a thread polls. Guarded by the lock. */
    private boolean polling;

    private CompletionChannel(DeviceContext context, MemorySegment handle) {
        this.context = context;
        this.fd = ibv_comp_channel.fd(handle);
        this.queues = new CompletionQueue[4];
        this.reserved = new BitSet();
        this.ready = new ArrayDeque<>();
        this.toldQueue = Arena.ofAuto().allocate(rdma_h.C_POINTER);
        this.toldContext = Arena.ofAuto().allocate(rdma_h.C_POINTER);
        ReentrantLock ofPolling = new ReentrantLock();
        this.lock = ofPolling;
        this.polled = ofPolling.newCondition();
        super("channel", handle, context.deviceName(), context);
    }

    static CompletionChannel create(DeviceContext context) {
        context.begin();
        try {
            MemorySegment handle = Verbs.create(Verbs.CREATE_CHANNEL, context.deviceName(), context.handle)
                    .reinterpret(ibv_comp_channel.sizeof());
            try {
                Descriptors.makeNonBlocking(ibv_comp_channel.fd(handle));
                return new CompletionChannel(context, handle);
            } catch (RuntimeException e) {
                Verbs.destroy(Verbs.DESTROY_CHANNEL, context.deviceName(), handle);
                throw e;
            }
        } finally {
            context.end();
        }
    }

    /** Returns the device. */
    public DeviceContext context() {
        return context;
    }

    /**
     * Returns the file descriptor, which is readable while an event waits. It is non-blocking and belongs to the channel:
     * it may be polled, not read or closed.
     */
    public int fileDescriptor() {
        return fd;
    }

    /**
     * Returns a number for a queue that is going to be created. Events bring it: to look a queue up by its address would cost an
     * object for each event.
     */
    int reserve() {
        lock.lock();
        try {
            int number = reserved.nextClearBit(0);
            reserved.set(number);
            if (number >= queues.length) {
                queues = Arrays.copyOf(queues, queues.length * 2);
            }
            return number;
        } finally {
            lock.unlock();
        }
    }

    /** Gives back the number of a queue that could not be created, or is destroyed. */
    void unreserve(int number) {
        lock.lock();
        try {
            reserved.clear(number);
        } finally {
            lock.unlock();
        }
    }

    void add(CompletionQueue queue) {
        lock.lock();
        try {
            queues[queue.numberInChannel()] = queue;
        } finally {
            lock.unlock();
        }
    }

    /** Forgets a queue before it is destroyed, which waits until each event that was read is acknowledged. */
    void remove(CompletionQueue queue) {
        lock.lock();
        try {
            queues[queue.numberInChannel()] = null;
            ready.remove(queue);
            queue.isReady = false;
            acknowledge(queue.handle, queue.unacknowledged);
            queue.unacknowledged = 0;
        } finally {
            lock.unlock();
        }
    }

    private static void acknowledge(MemorySegment queue, int events) {
        if (events > 0) {
            rdma_h.ibv_ack_cq_events(queue, events);
        }
    }

    /** Takes the next event, if there is one now. */
    public Optional<CompletionQueue> pollEvent() {
        return Optional.ofNullable(takeNow());
    }

    /**
     * Waits for an event of any queue on this channel. A queue gives one event after each
     * {@link CompletionQueue#requestNotify}.
     *
     * @param timeout the longest time to wait
     * @return the queue
     * @throws RdmaTimeoutException if none came
     */
    public CompletionQueue awaitEvent(Duration timeout) {
        // Most often there is one already: then the clock is not read.
        CompletionQueue now = timeout.isNegative() ? null : takeNow();
        if (now != null) {
            return now;
        }
        long deadline = Deadline.end(timeout);
        while (true) {
            if (Thread.currentThread().isInterrupted()) {
                Verbs.failIfInterrupted(awaited());
            }
            boolean last = Deadline.isOver(deadline);
            boolean read = readEvent(null, deadline);
            CompletionQueue queue = takeNow();
            if (queue != null) {
                return queue;
            }
            if (!read && last) {
                throw new RdmaTimeoutException(awaited(), timeout, "queues on it: " + present());
            }
        }
    }

    private List<CompletionQueue> present() {
        lock.lock();
        try {
            return Arrays.stream(queues).filter(Objects::nonNull).toList();
        } finally {
            lock.unlock();
        }
    }

    private String awaited() {
        return "completion event on " + describe();
    }

    private @Nullable CompletionQueue takeNow() {
        beginOften();
        try {
            lock.lock();
            try {
                CompletionQueue queue = takePending();
                return queue == null && !polling && handOver() ? takePending() : queue;
            } finally {
                lock.unlock();
            }
        } finally {
            endOften();
        }
    }

    /** The lock is held. */
    private @Nullable CompletionQueue takePending() {
        for (CompletionQueue queue = ready.poll(); queue != null; queue = ready.poll()) {
            queue.isReady = false;
            if (queue.takeEvent()) {
                if (queue.eventsNotTaken() > 0) {
                    addReady(queue);
                }
                return queue;
            }
        }
        return null;
    }

    /**
     * Waits for one slice at most, and hands the next event to its queue. One thread polls, the others wait for it: an event that
     * one thread reads for another is known to that one at once.
     *
     * @param queue the queue whose event is awaited; null for any
     * @param deadline what {@link Deadline#end} returned
     * @return whether the queue may have an event now
     */
    boolean readEvent(@Nullable CompletionQueue queue, long deadline) {
        beginOften();
        try {
            lock.lock();
            try {
                // Under the lock: an event that is handed over from here on is signalled.
                if (hasPending(queue)) {
                    return true;
                }
                if (polling) {
                    awaitPoller(deadline);
                    return hasPending(queue);
                }
                if (handOver()) {
                    return true;
                }
                polling = true;
            } finally {
                lock.unlock();
            }
            boolean readable = false;
            try {
                readable = Verbs.awaitReadable(fd, deadline);
            } finally {
                lock.lock();
                try {
                    polling = false;
                    polled.signalAll();
                    readable = readable && handOver();
                } finally {
                    lock.unlock();
                }
            }
            return readable;
        } finally {
            endOften();
        }
    }

    private void addReady(CompletionQueue queue) {
        if (!queue.isReady) {
            queue.isReady = true;
            ready.add(queue);
        }
    }

    private boolean hasPending(@Nullable CompletionQueue queue) {
        if (queue != null) {
            return queue.eventsNotTaken() > 0;
        }
        for (CompletionQueue each : ready) {
            if (each.eventsNotTaken() > 0) {
                return true;
            }
        }
        return false;
    }

    private void awaitPoller(long deadline) {
        long left = Math.min(Deadline.nanos(deadline), SLICE_NANOS);
        try {
            long ignored = left > 0 ? polled.awaitNanos(left) : 0;
        } catch (InterruptedException e) {
            // Whoever waits looks at it after each slice.
            Thread.currentThread().interrupt();
        }
    }

    /** Reads one event, if there is one, and hands it to its queue. The lock is held. */
    private boolean handOver() {
        try {
            int result =
                    (int) Verbs.Waiting.GET_CQ_EVENT.invokeExact(Native.errnoState(), handle, toldQueue, toldContext);
            if (result != 0) {
                if (Native.errno() == rdma_h.EAGAIN()) {
                    return false;
                }
                throw Native.failure("ibv_get_cq_event", describe());
            }
            CompletionQueue queue = queues[(int) toldContext.get(JAVA_LONG, 0)];
            if (queue == null) {
                // It is about to be destroyed.
                acknowledge(toldQueue.get(rdma_h.C_POINTER, 0), 1);
                return true;
            }
            if (++queue.unacknowledged == ACKNOWLEDGED_AT_ONCE) {
                acknowledge(queue.handle, ACKNOWLEDGED_AT_ONCE);
                queue.unacknowledged = 0;
            }
            queue.addEvent();
            addReady(queue);
            return true;
        } catch (Throwable e) {
            throw Native.unchecked("ibv_get_cq_event", e);
        }
    }

    @Override
    protected void release() {
        Verbs.destroy(Verbs.DESTROY_CHANNEL, describe(), handle);
    }

    @Override
    public String describe() {
        return "channel " + deviceName() + "/fd " + fd;
    }
}
