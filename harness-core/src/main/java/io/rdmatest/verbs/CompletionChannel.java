package io.rdmatest.verbs;

import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.ffi.ibv_comp_channel;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.internal.Descriptors;
import io.rdmatest.internal.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Brings the events of completion queues (ibv_create_comp_channel(3), ibv_get_cq_event(3)).
 *
 * <p>Events are acknowledged as they are read. Those of several queues on one channel, awaited by several threads, each
 * reach the thread that waits for its queue.
 */
public final class CompletionChannel extends VerbsObject {

    /** Where ibv_get_cq_event(3) tells the queue and its context to the thread that calls it. */
    private static final ThreadLocal<MemorySegment> TOLD =
            ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(rdma_h.C_POINTER, 2));

    private static final long SLICE_NANOS = TimeUnit.MILLISECONDS.toNanos(Verbs.SLICE_MILLIS);

    private final DeviceContext context;
    private final int fd;
    private final Map<Long, CompletionQueue> queues;
    private final ReentrantLock lock;
    /** Is signalled when the thread that polls has come back. */
    private final Condition polled;
    /** Whether a thread polls. Guarded by the lock. */
    private boolean polling;

    private CompletionChannel(DeviceContext context, MemorySegment handle) {
        this.context = context;
        this.fd = ibv_comp_channel.fd(handle);
        this.queues = new ConcurrentHashMap<>();
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

    void add(CompletionQueue queue) {
        queues.put(queue.address, queue);
    }

    void remove(CompletionQueue queue) {
        queues.remove(queue.address, queue);
    }

    /** Takes the next event, if there is one now. */
    public Optional<CompletionQueue> pollEvent() {
        Optional<CompletionQueue> pending = takePending();
        if (pending.isPresent()) {
            return pending;
        }
        boolean ignored = readEvent(null, System.nanoTime());
        return takePending();
    }

    /**
     * Waits for an event of any queue on this channel. A queue gives one event after each
     * {@link CompletionQueue#requestNotify}.
     *
     * @param timeout the longest time to wait
     * @return the queue; its event is acknowledged
     * @throws RdmaTimeoutException if none came
     */
    public CompletionQueue awaitEvent(Duration timeout) {
        long deadline = Verbs.deadline(timeout);
        while (true) {
            Optional<CompletionQueue> queue = takePending();
            if (queue.isPresent()) {
                return queue.get();
            }
            if (Thread.currentThread().isInterrupted()) {
                Verbs.failIfInterrupted(awaited());
            }
            boolean last = System.nanoTime() - deadline >= 0;
            if (!readEvent(null, deadline) && last) {
                throw new RdmaTimeoutException(awaited(), timeout, "queues on it: " + queues.values());
            }
        }
    }

    private String awaited() {
        return "completion event on " + describe();
    }

    private Optional<CompletionQueue> takePending() {
        for (CompletionQueue queue : queues.values()) {
            if (queue.takeEvent()) {
                return Optional.of(queue);
            }
        }
        return Optional.empty();
    }

    /**
     * Waits for one slice at most, and hands the next event to its queue. One thread polls, the others wait for it: an event that
     * one thread reads for another is known to that one at once.
     *
     * @param queue the queue whose event is awaited; null for any
     * @param deadline a value of System.nanoTime
     * @return whether the queue may have an event now
     */
    boolean readEvent(@Nullable CompletionQueue queue, long deadline) {
        begin();
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
                polling = true;
            } finally {
                lock.unlock();
            }
            try {
                return Verbs.awaitReadable(fd, deadline) && handOver();
            } finally {
                lock.lock();
                try {
                    polling = false;
                    polled.signalAll();
                } finally {
                    lock.unlock();
                }
            }
        } finally {
            end();
        }
    }

    private boolean hasPending(@Nullable CompletionQueue queue) {
        if (queue != null) {
            return queue.eventsNotTaken() > 0;
        }
        for (CompletionQueue each : queues.values()) {
            if (each.eventsNotTaken() > 0) {
                return true;
            }
        }
        return false;
    }

    private void awaitPoller(long deadline) {
        long left = Math.min(deadline - System.nanoTime(), SLICE_NANOS);
        try {
            long ignored = left > 0 ? polled.awaitNanos(left) : 0;
        } catch (InterruptedException e) {
            // Whoever waits looks at it after each slice.
            Thread.currentThread().interrupt();
        }
    }

    /** Reads one event and acknowledges it; tells whether there was one. Done by one thread at a time. */
    private boolean handOver() {
        try {
            MemorySegment told = TOLD.get();
            int result = (int) Verbs.Waiting.GET_CQ_EVENT.invokeExact(
                    Native.errnoState(), handle, told, told.asSlice(rdma_h.C_POINTER.byteSize()));
            if (result != 0) {
                if (Native.errno() == rdma_h.EAGAIN()) {
                    // The queue that it was of is destroyed.
                    return false;
                }
                throw Native.failure("ibv_get_cq_event", describe());
            }
            MemorySegment cq = told.get(rdma_h.C_POINTER, 0);
            CompletionQueue queue = queues.get(cq.address());
            if (queue != null) {
                queue.addEvent();
            }
            // The queue can't be destroyed before this: the destroying thread waits for it.
            rdma_h.ibv_ack_cq_events(cq, 1);
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
