package io.rdmatest.stream;

import io.rdmatest.Closer;
import io.rdmatest.Deadline;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.internal.linux.Descriptors;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Reports the events of its listeners and endpoints, fi_eq(3).
 *
 * <p>Events of one endpoint arrive in order. {@link StreamEvent.Type#SHUTDOWN} is reported only after all data was
 * received. Nothing happens in the background: calls of this queue, its listeners and its endpoints process the events
 * of the connection manager.
 *
 * <p>Thread-safe. Listeners and endpoints must be closed before their queue.
 */
public final class StreamEventQueue implements AutoCloseable {

    /** The longest slice of a wait. After each slice the wait checks for events of other threads, interrupts and closing. */
    static final int SLICE_MILLIS = 20;

    /** Takes the connection manager's events of an id. */
    interface Recipient {
        void handle(CmEvent event);
    }

    private final EventChannel channel;
    private final ReentrantLock pumpLock = new ReentrantLock();

    private final Map<CmId, Recipient> recipients = new ConcurrentHashMap<>();
    /** Guarded by itself. */
    private final Deque<StreamEvent> events = new ArrayDeque<>();

    private StreamEventQueue(EventChannel channel) {
        this.channel = channel;
    }

    /**
     * Makes an event queue.
     *
     * @throws io.rdmatest.NativeLibraryException if librdmacm is not installed
     * @throws RdmaException if the kernel has no RDMA stack, or the process may not use it
     */
    public static StreamEventQueue create() {
        return new StreamEventQueue(EventChannel.create());
    }

    /**
     * Returns a file descriptor that becomes readable at an event of the connection manager (FI_GETWAIT). Call {@link
     * #poll()} before and after a wait. The descriptor may be polled, but not read or closed. A SHUTDOWN that waits for
     * its data to be received does not make it readable.
     */
    public int fileDescriptor() {
        return channel.fileDescriptor();
    }

    /** Returns the next event, or empty if there is none now. */
    public Optional<StreamEvent> poll() {
        pump();
        return Optional.ofNullable(take(event -> true));
    }

    /**
     * Waits for the next event.
     *
     * @param timeout how long at most
     * @throws RdmaTimeoutException if none arrives in time
     * @throws RdmaException if the thread is interrupted, whose interrupt status stays set
     * @throws IllegalStateException if the queue is closed
     */
    public StreamEvent await(Duration timeout) {
        return await(event -> true, "event of a stream", timeout);
    }

    StreamEvent await(Predicate<StreamEvent> wanted, String what, Duration timeout) {
        Deadline deadline = Deadline.after(timeout);
        Descriptors descriptors = new Descriptors(channel.fileDescriptor());
        while (true) {
            pump();
            StreamEvent event = take(wanted);
            if (event != null) {
                return event;
            }
            deadline.check(what, () -> "last events: " + channel.recentEvents());
            boolean ignored = descriptors.awaitReadable(deadline.millis(SLICE_MILLIS));
        }
    }

    EventChannel channel() {
        return channel;
    }

    /** Registers the recipient of an id's events. */
    void register(CmId id, Recipient recipient) {
        recipients.put(id, recipient);
    }

    /** Removes an id, and its owner's remaining events. */
    void forget(CmId id, Predicate<StreamEvent> events) {
        pumpLock.lock();
        try {
            recipients.remove(id);
        } finally {
            pumpLock.unlock();
        }
        synchronized (this.events) {
            this.events.removeIf(events);
        }
    }

    void add(StreamEvent event) {
        synchronized (events) {
            events.add(event);
        }
    }

    private @Nullable StreamEvent take(Predicate<StreamEvent> wanted) {
        synchronized (events) {
            for (Iterator<StreamEvent> iterator = events.iterator(); iterator.hasNext(); ) {
                StreamEvent event = iterator.next();
                if (wanted.test(event)) {
                    iterator.remove();
                    return event;
                }
            }
            return null;
        }
    }

    /** Delivers all events of the connection manager, one thread at a time, which keeps their order. */
    void pump() {
        pumpLock.lock();
        try {
            if (channel.isClosed()) {
                throw new IllegalStateException("the event queue is closed");
            }
            // Also if the descriptor is not readable: another user of the channel may have read events into its queue.
            Optional<CmEvent> event = channel.poll();
            // Most calls find none, and must allocate nothing.
            if (event.isEmpty()) {
                return;
            }
            // One that can't be delivered does not keep back the others.
            try (Closer closer = new Closer()) {
                for (; event.isPresent(); event = channel.poll()) {
                    CmEvent now = event.get();
                    closer.run(() -> deliver(now));
                }
            }
        } finally {
            pumpLock.unlock();
        }
    }

    private void deliver(CmEvent event) {
        CmId listening = event.listenId();
        Recipient recipient = recipients.get(listening == null ? event.id() : listening);
        if (recipient != null) {
            recipient.handle(event);
        } else if (listening != null) {
            event.id().close();
        }
    }

    /**
     * Closes the queue; does nothing the second time.
     *
     * @throws IllegalStateException if listeners, requests or endpoints of it are not closed
     */
    @Override
    public void close() {
        pumpLock.lock();
        try {
            channel.close();
        } finally {
            pumpLock.unlock();
        }
    }

    @Override
    public String toString() {
        return "stream event queue on " + channel.describe();
    }
}
