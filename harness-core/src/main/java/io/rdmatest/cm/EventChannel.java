package io.rdmatest.cm;

import io.rdmatest.Cause;
import io.rdmatest.Deadline;
import io.rdmatest.NativeResource;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.ffi.rdma_cm_event;
import io.rdmatest.ffi.rdma_event_channel;
import io.rdmatest.internal.Native;
import io.rdmatest.internal.linux.Descriptors;
import io.rdmatest.internal.linux.ManagerFile;
import io.rdmatest.internal.linux.NativeCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A channel for the events of ids (rdma_create_event_channel(3)).
 *
 * <p>The channel's file descriptor is non-blocking, and waits poll it in slices. So every wait ends by its deadline, by
 * an interrupt, or when another thread closes the channel. An event is copied and acknowledged as soon as it is read.
 * It then stays in the channel until a caller takes it: {@link #await(Duration)} takes events of any id, {@link
 * CmId#expectEvent(CmEvent.Type, Duration)} those of one id.
 *
 * <p>Closing a listening id rejects its remaining connection requests and destroys their ids.
 *
 * <p>Thread-safe.
 */
public final class EventChannel extends NativeResource {

    /** The longest slice of a wait in poll(2). After each slice the wait checks for interrupts and closing. */
    private static final int SLICE_MILLIS = 100;

    /**
     * An event for messages.
     *
     * @param at the time at which it was read from the channel
     * @param event its name, its id, and its status if that is not 0
     */
    public record Seen(Instant at, String event) {
        @Override
        public String toString() {
            return event;
        }
    }

    /** An event whose description is built only on demand, which is rare. */
    private record Arrival(
            Instant at, RawEvent event, @Nullable CmId id) {
        Seen seen() {
            return new Seen(at, EventChannel.describe(event, id));
        }
    }

    private static final int REMEMBERED = 16;
    private static final Set<CmEvent.Type> ENDINGS = Set.of(CmEvent.Type.DISCONNECTED, CmEvent.Type.TIMEWAIT_EXIT);
    private static final AtomicLong NUMBERS = new AtomicLong();

    private final long number;
    private final MemorySegment channel;
    private final int fd;
    private final Arena arena;
    /** The output pointer of rdma_get_cm_event; guarded by {@link #lock}. */
    private final MemorySegment eventOut;
    /** For the thread in poll(2) only. */
    private final Descriptors readable;

    /**
     * Held during every native call on this channel and its ids. librdmacm accesses ids and their queue pairs while it
     * reads an event, so none may be destroyed meanwhile.
     */
    private final ReentrantLock lock;

    private final Condition arrived;
    /** Whether a thread is in poll(2) for all others; guarded by {@link #lock}. */
    private boolean polling;
    /** The ids of this channel, by address; guarded by {@link #lock}. */
    private final Map<Long, CmId> ids;
    /** Events that were not taken yet, in order of arrival; guarded by {@link #lock}. */
    private final Deque<RawEvent> pending;
    /** The last events, for messages; guarded by {@link #lock}. */
    private final Deque<Arrival> recent;

    private EventChannel(MemorySegment channel, int fd) {
        Arena own = Arena.ofShared();
        ReentrantLock held = new ReentrantLock();
        this.number = NUMBERS.incrementAndGet();
        this.channel = channel;
        this.fd = fd;
        this.arena = own;
        this.eventOut = own.allocate(ValueLayout.ADDRESS);
        this.readable = new Descriptors(fd);
        this.lock = held;
        this.arrived = held.newCondition();
        this.ids = new HashMap<>();
        this.pending = new ArrayDeque<>();
        this.recent = new ArrayDeque<>();
        super("cm-channel");
    }

    /**
     * Returns why no channel can be created on this host: the file of the connection manager is missing, as in a container that was
     * given a device only. On a host, the first attempt to create a channel makes Linux load the module that makes the file.
     *
     * @return one sentence with the cure; empty if a channel can be created, or there is no device
     */
    public static Optional<String> unusable() {
        Optional<String> missing = ManagerFile.missing();
        if (missing.isPresent()) {
            try {
                create().close();
                return Optional.empty();
            } catch (RdmaException e) {
                return missing;
            }
        }
        return missing;
    }

    /**
     * Creates a channel.
     *
     * @throws io.rdmatest.NativeLibraryException if librdmacm is not installed
     * @throws RdmaException ENODEV if there is no RDMA device, ENOENT if there is no /dev/infiniband/rdma_cm, EACCES if the
     *     process may not open it
     */
    public static EventChannel create() {
        NativeCalls.requireLibraries();
        MemorySegment channel = Rdmacm.createEventChannel();
        try {
            int fd = rdma_event_channel.fd(channel);
            Descriptors.makeNonBlocking(fd);
            return new EventChannel(channel, fd);
        } catch (RuntimeException | Error e) {
            Rdmacm.destroyEventChannel(channel);
            throw e;
        }
    }

    /**
     * Creates an id with this channel (rdma_create_id(3)).
     *
     * @param portSpace the port space, which decides the type of service and of queue pair
     * @throws IllegalStateException if the channel is closed
     */
    public CmId createId(PortSpace portSpace) {
        Objects.requireNonNull(portSpace, "portSpace");
        return locked(() -> {
            try (Arena out = Arena.ofConfined()) {
                MemorySegment address = out.allocate(ValueLayout.ADDRESS);
                Rdmacm.createId(channel, address, portSpace);
                return adopt(address.get(ValueLayout.ADDRESS, 0), portSpace);
            }
        });
    }

    /** Makes the object for a native id; destroys the native id if that fails. The caller holds the lock. */
    private CmId adopt(MemorySegment address, PortSpace portSpace) {
        try {
            CmId id = new CmId(this, address, portSpace);
            ids.put(address.address(), id);
            return id;
        } catch (RuntimeException | Error e) {
            Rdmacm.destroyId(address, () -> "");
            throw e;
        }
    }

    /**
     * Waits for the next event of any id.
     *
     * @param timeout the longest wait
     * @throws RdmaTimeoutException if none arrives in time
     * @throws IllegalStateException if the channel is closed, also by another thread during the wait
     * @throws RdmaException if the thread is interrupted, whose interrupt status stays set
     */
    public CmEvent await(Duration timeout) {
        return awaitMatching(null, event -> true, Cause.TIMEOUT, "connection manager event", timeout);
    }

    /** Returns the next event of any id, or empty if there is none now. */
    public Optional<CmEvent> poll() {
        return Optional.ofNullable(pollMatching(event -> true));
    }

    /**
     * Waits for the next event of any id and requires it to be of a type.
     *
     * @param wanted the type
     * @param timeout the longest wait
     * @throws UnexpectedCmEventException if the next event is of another type; it is then consumed
     * @throws RdmaTimeoutException if none arrives in time
     */
    public CmEvent expect(CmEvent.Type wanted, Duration timeout) {
        return awaitMatching(null, event -> true, wanted.silence(), wanted.cName(), timeout)
                .require(wanted);
    }

    /**
     * Returns the file descriptor, which is readable while the kernel has an event. It is non-blocking and may be
     * polled, but not read or closed. Events that were already read but not taken do not make it readable.
     */
    public int fileDescriptor() {
        return fd;
    }

    /** Returns the last events of this channel, the oldest first, whether taken or not; for messages. */
    public List<String> recentEvents() {
        return history().stream().map(Seen::event).toList();
    }

    /** Returns the last events of this channel with the times of their arrival, the oldest first, taken or not. */
    public List<Seen> history() {
        lock.lock();
        try {
            return recent.stream().map(Arrival::seen).toList();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns the events that have arrived but were not taken, the oldest first, and keeps them. It first reads all
     * events from the kernel. It leaves out DISCONNECTED and TIMEWAIT_EXIT, which may arrive at any time.
     *
     * @throws IllegalStateException if the channel is closed
     */
    public List<String> eventsNotTaken() {
        return locked(() -> {
            readAll();
            return pending.stream()
                    .filter(raw -> !ENDINGS.contains(CmEvent.Type.of(raw.number())))
                    .map(raw -> describe(raw, ids.get(raw.recipient())))
                    .toList();
        });
    }

    private static String describe(RawEvent raw, @Nullable CmId id) {
        return CmEvent.cName(raw.number()) + " on " + (id == null ? "an unknown id" : id.describe())
                + (raw.status() == 0 ? "" : ", status " + raw.status());
    }

    /** Returns the ids of this channel. */
    public List<CmId> ids() {
        lock.lock();
        try {
            return List.copyOf(ids.values());
        } finally {
            lock.unlock();
        }
    }

    @Override
    public String describe() {
        return "cm-channel " + number;
    }

    @Override
    protected void release() {
        lock.lock();
        try {
            Rdmacm.destroyEventChannel(channel);
        } finally {
            lock.unlock();
        }
        arena.close();
    }

    // ---- for the other classes of this package ----

    long number() {
        return number;
    }

    ReentrantLock lock() {
        return lock;
    }

    MemorySegment segment() {
        return channel;
    }

    void enterCall() {
        enter();
    }

    void exitCall() {
        exit();
    }

    /** Runs a call with the channel open and under the lock. */
    <T> T locked(Supplier<T> call) {
        enter();
        try {
            lock.lock();
            try {
                return call.get();
            } finally {
                lock.unlock();
            }
        } finally {
            exit();
        }
    }

    @Nullable
    CmEvent pollMatching(Predicate<RawEvent> matching) {
        return locked(() -> takeOrRead(matching));
    }

    /**
     * Waits for an event.
     *
     * @param id the id of the event, or null for any id; the wait ends when the id is closed, and follows it to another
     *     channel
     * @param silence the cause of a timeout
     */
    CmEvent awaitMatching(
            @Nullable CmId id, Predicate<RawEvent> matching, Cause silence, String awaited, Duration timeout) {
        Deadline deadline = Deadline.after(timeout);
        EventChannel here = this;
        while (true) {
            if (id != null) {
                id.requireOpen();
                here = id.channel();
            }
            long remaining = deadline.nanos();
            CmEvent event = here.step(matching, remaining);
            if (event != null) {
                return event;
            }
            if (remaining == 0) {
                throw new RdmaTimeoutException(
                        silence,
                        awaited + (id == null ? " on " + here.describe() : " on " + id.describe()),
                        deadline,
                        here.lastSeen());
            }
            if (Thread.currentThread().isInterrupted()) {
                throw new RdmaException(
                        Cause.INTERRUPTED,
                        "interrupted while waiting for " + awaited + " on "
                                + (id == null ? here.describe() : id.describe()) + "; " + here.lastSeen());
            }
        }
    }

    /** Checks once for an event, and waits for one slice if there is none. One thread polls, the others wait for it. */
    private @Nullable CmEvent step(Predicate<RawEvent> matching, long remaining) {
        enter();
        try {
            lock.lock();
            try {
                CmEvent event = takeOrRead(matching);
                if (event != null || remaining == 0) {
                    return event;
                }
                if (polling) {
                    long nanos = Math.min(remaining, TimeUnit.MILLISECONDS.toNanos(SLICE_MILLIS));
                    try {
                        long ignored = arrived.awaitNanos(nanos);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                    return null;
                }
                polling = true;
            } finally {
                lock.unlock();
            }
            try {
                long millis = Math.min(TimeUnit.NANOSECONDS.toMillis(remaining) + 1, SLICE_MILLIS);
                boolean ignored = readable.awaitReadable((int) millis);
            } finally {
                lock.lock();
                try {
                    polling = false;
                    arrived.signalAll();
                } finally {
                    lock.unlock();
                }
            }
            return null;
        } finally {
            exit();
        }
    }

    private String lastSeen() {
        lock.lock();
        try {
            return recent.isEmpty() ? "no event arrived" : "last events: " + String.join("; ", recentEvents());
        } finally {
            lock.unlock();
        }
    }

    /** Reads, copies and acknowledges all events. The caller holds the lock. */
    private void readAll() {
        boolean any = false;
        while (Rdmacm.getEvent(channel, eventOut)) {
            int errno = Native.errno();
            MemorySegment event = eventOut.get(ValueLayout.ADDRESS, 0).reinterpret(rdma_cm_event.sizeof());
            RawEvent raw;
            try {
                raw = RawEvent.copy(event, errno);
            } finally {
                Rdmacm.ackEvent(event);
            }
            any = true;
            CmId id = ids.get(raw.recipient());
            remember(raw, id);
            if (id != null) {
                id.noteEvent(raw);
                pending.add(raw);
            }
        }
        if (any) {
            arrived.signalAll();
        }
    }

    private void remember(RawEvent raw, @Nullable CmId id) {
        if (recent.size() == REMEMBERED) {
            Arrival ignored = recent.removeFirst();
        }
        recent.addLast(new Arrival(Instant.now(), raw, id));
    }

    /** Takes a pending event, or else reads from the kernel: each read costs a system call. */
    private @Nullable CmEvent takeOrRead(Predicate<RawEvent> matching) {
        CmEvent event = take(matching);
        if (event != null) {
            return event;
        }
        readAll();
        return take(matching);
    }

    private @Nullable CmEvent take(Predicate<RawEvent> matching) {
        for (Iterator<RawEvent> events = pending.iterator(); events.hasNext(); ) {
            RawEvent raw = events.next();
            if (matching.test(raw)) {
                events.remove();
                return raw.handOut(ids, this::adopt);
            }
        }
        return null;
    }

    /** Removes an id before it is destroyed, and destroys its connection requests. The caller holds the lock. */
    void forget(MemorySegment id) {
        for (RawEvent raw : removePending(id.address())) {
            if (raw.listenId() != 0) {
                Rdmacm.destroyId(MemorySegment.ofAddress(raw.id()), () -> "of a connection request that was not taken");
            }
        }
        CmId ignored = ids.remove(id.address());
    }

    /** Restores an id that could not be destroyed. The caller holds the lock. */
    void restore(MemorySegment address, CmId id) {
        ids.put(address.address(), id);
    }

    /** Moves an id with its events, after the native id has been moved. The caller holds both locks. */
    void handOver(MemorySegment address, CmId id, EventChannel to) {
        for (RawEvent raw : removePending(address.address())) {
            if (raw.listenId() != 0) {
                Rdmacm.migrate(MemorySegment.ofAddress(raw.id()), to.channel, () -> "request of " + id.describe());
            }
            to.pending.add(raw);
        }
        CmId ignored = ids.remove(address.address());
        to.ids.put(address.address(), id);
        to.arrived.signalAll();
        arrived.signalAll();
    }

    private List<RawEvent> removePending(long recipient) {
        List<RawEvent> removed = new ArrayList<>();
        for (Iterator<RawEvent> events = pending.iterator(); events.hasNext(); ) {
            RawEvent raw = events.next();
            if (raw.recipient() == recipient) {
                events.remove();
                removed.add(raw);
            }
        }
        return removed;
    }
}
