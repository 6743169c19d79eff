package io.rdmatest.verbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdmatest.Deadline;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.ffi.ibv_comp_channel;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.internal.Native;
import io.rdmatest.internal.linux.Descriptors;
import io.rdmatest.internal.linux.NativeCalls;
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
 * A completion channel: it delivers the events of completion queues (ibv_create_comp_channel(3), ibv_get_cq_event(3)).
 *
 * <p>The channel acknowledges events in batches, as the man page advises, and at the latest before their queue is destroyed.
 * Several threads may wait for events of different queues on one channel. Each event reaches the thread that waits for its queue.
 */
public final class CompletionChannel extends VerbsObject {

    /** How many events of a queue are acknowledged at a time. Each acknowledgement takes a mutex. */
    private static final int ACKNOWLEDGED_AT_ONCE = 16;

    private static final long SLICE_NANOS = TimeUnit.MILLISECONDS.toNanos(Verbs.SLICE_MILLIS);

    private final DeviceContext context;
    private final int fd;
    /** The queues, by the number that libibverbs stores as the context of each. Guarded by the lock. */
    private @Nullable CompletionQueue[] queues;

    /** The numbers in use: of queues, and of queues that are being created or destroyed. Guarded by the lock. */
    private final BitSet reserved;

    /**
     * The queues with events that nobody has taken, each listed once. The events of some may have been taken meanwhile. Guarded
     * by the lock.
     */
    private final ArrayDeque<CompletionQueue> ready;

    /** The output pointers of ibv_get_cq_event(3): the queue, and its context. Guarded by the lock. */
    private final MemorySegment toldQueue;

    private final MemorySegment toldContext;
    private final ReentrantLock lock;
    /** Signalled when the polling thread has returned from poll(2). */
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
     * Returns the file descriptor, which is readable while an event waits. The descriptor is non-blocking and belongs to the
     * channel: callers may poll it, but not read or close it.
     */
    public int fileDescriptor() {
        return fd;
    }

    /**
     * Reserves a number for a queue that is about to be created. Each event carries this number. A look-up by the queue's address
     * would allocate an object for each event.
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

    /** Frees the number of a queue that could not be created, or that is destroyed. */
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

    /**
     * Removes a queue and acknowledges its events, before the queue is destroyed. ibv_destroy_cq(3) waits until every event that
     * was read is acknowledged.
     */
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
     * @throws RdmaTimeoutException if no event arrives in time
     */
    public CompletionQueue awaitEvent(Duration timeout) {
        // Usually an event is already there. Then the clock is not read.
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
                throw new RdmaTimeoutException(awaited(), Deadline.of(deadline, timeout), "queues on it: " + present());
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

    /** Takes an event that was already read. The caller holds the lock. */
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
     * Waits for at most one slice, and hands the next event to its queue. One thread polls the descriptor, and the others wait
     * for that thread. So a thread learns at once of an event that another thread reads for it.
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
                // Checked under the lock: an event that is handed over later signals the condition.
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
            // The waiting method checks the interrupt status after each slice.
            Thread.currentThread().interrupt();
        }
    }

    /** Reads one event, if there is one, and hands it to its queue. The caller holds the lock. */
    private boolean handOver() {
        try {
            int result =
                    (int) Verbs.Waiting.GET_CQ_EVENT.invokeExact(Native.errnoState(), handle, toldQueue, toldContext);
            if (result != 0) {
                if (Native.errno() == rdma_h.EAGAIN()) {
                    return false;
                }
                throw NativeCalls.failure("ibv_get_cq_event", describe());
            }
            CompletionQueue queue = queues[(int) toldContext.get(JAVA_LONG, 0)];
            if (queue == null) {
                // The queue is about to be destroyed.
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
