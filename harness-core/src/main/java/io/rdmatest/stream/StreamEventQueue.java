package io.rdmatest.stream;

import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.internal.Descriptors;
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
 * Tells what happens to the connections of its listeners and endpoints, fi_eq(3).
 *
 * <p>Events of one endpoint come in order. {@link StreamEvent.Type#SHUTDOWN} comes after the data: not before everything
 * that had arrived was received. Nothing happens in the background: the connection manager is listened to in calls of
 * this queue, of its listeners and of its endpoints.
 *
 * <p>Safe for use by several threads. Listeners and endpoints are closed before their queue.
 */
public final class StreamEventQueue implements AutoCloseable {

    /** How long a wait sleeps before it looks at events that another thread found, at interrupts and at closing. */
    static final int SLICE_MILLIS = 20;

    /** Takes what the connection manager says of an id. */
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
     * @throws RdmaException if the RDMA stack is not there or not permitted
     */
    public static StreamEventQueue create() {
        return new StreamEventQueue(EventChannel.create());
    }

    /**
     * Returns a file descriptor that becomes readable when the connection manager has something to say (FI_GETWAIT). Look
     * with {@link #poll()} before and after waiting for it; it may be polled, not read or closed. A SHUTDOWN that waited
     * for its data to be received does not make it readable.
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
     * @throws RdmaTimeoutException if none comes
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

    /** From now on the id's events go to its owner. */
    void register(CmId id, Recipient recipient) {
        recipients.put(id, recipient);
    }

    /** Forgets an id, and what was not yet taken of its owner's events. */
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

    /** Hands out all that the connection manager has to say, one thread at a time so that order is kept. */
    void pump() {
        pumpLock.lock();
        try {
            if (channel.isClosed()) {
                throw new IllegalStateException("the event queue is closed");
            }
            RuntimeException failure = null;
            // Also if the descriptor is not readable: others that look at the channel read its events, and leave them
            // there.
            for (Optional<CmEvent> event = channel.poll(); event.isPresent(); event = channel.poll()) {
                CmEvent now = event.get();
                CmId listening = now.listenId();
                Recipient recipient = recipients.get(listening == null ? now.id() : listening);
                try {
                    if (recipient != null) {
                        recipient.handle(now);
                    } else if (listening != null) {
                        now.id().close();
                    }
                } catch (RuntimeException e) {
                    // The others' events are no less theirs.
                    if (failure == null) {
                        failure = e;
                    } else {
                        failure.addSuppressed(e);
                    }
                }
            }
            if (failure != null) {
                throw failure;
            }
        } finally {
            pumpLock.unlock();
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
