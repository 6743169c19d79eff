package io.rdmatest.cm;

import io.rdmatest.Cause;
import io.rdmatest.NativeResource;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.ffi.rdma_cm_event;
import io.rdmatest.ffi.rdma_event_channel;
import io.rdmatest.internal.Descriptors;
import io.rdmatest.internal.Native;
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
 * Where the events of ids arrive (rdma_create_event_channel(3)).
 *
 * <p>The channel's file descriptor is non-blocking, and waits poll it in slices, so that every wait ends by its
 * deadline, by an interrupt, or when another thread closes the channel. An event is copied and acknowledged as soon as
 * it is read, and is then kept until somebody asks for it: either {@link #await(Duration)} for any id, or
 * {@link CmId#expectEvent(CmEvent.Type, Duration)} for one id, which leaves the events of other ids where they are.
 *
 * <p>The new id of a connection request that nobody took is rejected and destroyed with the listening id.
 *
 * <p>Safe for use by several threads.
 */
public final class EventChannel extends NativeResource {

    /** How long a wait stays in poll(2) at most before it looks at interrupts and at closing. */
    private static final int SLICE_MILLIS = 100;

    /**
     * An event that arrived.
     *
     * @param at when it was read from the channel
     * @param event its name, its id, and its status unless that is 0
     */
    public record Seen(Instant at, String event) {
        @Override
        public String toString() {
            return event;
        }
    }

    /** Described only when somebody asks: most never are. */
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
    /** Where rdma_get_cm_event leaves the event; guarded by {@link #lock}. */
    private final MemorySegment eventOut;
    /** For the one thread that is in poll(2). */
    private final Descriptors readable;

    /**
     * Held in every native call on this channel and its ids. librdmacm looks into ids and their queue pairs while it
     * reads an event, so that nothing may be destroyed meanwhile.
     */
    private final ReentrantLock lock;

    private final Condition arrived;
    /** Whether a thread is in poll(2) for all others; guarded by {@link #lock}. */
    private boolean polling;
    /** The ids that report here, by address; guarded by {@link #lock}. */
    private final Map<Long, CmId> ids;
    /** Events that nobody asked for yet, in order of arrival; guarded by {@link #lock}. */
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
     * Creates a channel.
     *
     * @throws io.rdmatest.NativeLibraryException if librdmacm is not installed
     * @throws RdmaException ENODEV if there is no RDMA device, ENOENT if the kernel has no rdma_ucm, EACCES without the
     *     permission to open it
     */
    public static EventChannel create() {
        Native.requireLibraries();
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
     * Creates an id whose events arrive here (rdma_create_id(3)).
     *
     * @param portSpace decides the type of service and of queue pair
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

    /** Makes the object for a native id, or destroys the native id. The lock is held. */
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
     * @param timeout how long at most
     * @throws RdmaTimeoutException if none comes
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
     * @param timeout how long at most
     * @throws UnexpectedCmEventException if the next event is of another type; it is then consumed
     * @throws RdmaTimeoutException if none comes
     */
    public CmEvent expect(CmEvent.Type wanted, Duration timeout) {
        return awaitMatching(null, event -> true, wanted.silence(), wanted.cName(), timeout)
                .require(wanted);
    }

    /**
     * Returns the file descriptor, which is readable while an event waits to be read. It is non-blocking and belongs to the
     * channel: it may be polled, not read or closed. Events that were read and that nobody asked for yet don't make it
     * readable.
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
     * Returns the events that have arrived and that nobody took, the oldest first; they stay where they are. What is still
     * in the kernel is read first. Those that only tell that a connection ended come by themselves, at any time, and are
     * left out.
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

    /** Returns the ids that report here. */
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

    /** Runs a call with the channel open and the lock held. */
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
     * @param id whose event it is: the wait ends when the id is closed and follows it to another channel; null for any
     * @param silence what it means that none comes
     */
    CmEvent awaitMatching(
            @Nullable CmId id, Predicate<RawEvent> matching, Cause silence, String awaited, Duration timeout) {
        long begin = System.nanoTime();
        long budget = nanos(timeout);
        EventChannel here = this;
        while (true) {
            if (id != null) {
                id.requireOpen();
                here = id.channel();
            }
            long remaining = budget - (System.nanoTime() - begin);
            CmEvent event = here.step(matching, remaining);
            if (event != null) {
                return event;
            }
            if (remaining <= 0) {
                throw new RdmaTimeoutException(
                        silence,
                        awaited + (id == null ? " on " + here.describe() : " on " + id.describe()),
                        timeout,
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

    /** Looks once, and waits for one slice if there is nothing. One thread polls, the others wait for it. */
    private @Nullable CmEvent step(Predicate<RawEvent> matching, long remaining) {
        enter();
        try {
            lock.lock();
            try {
                CmEvent event = takeOrRead(matching);
                if (event != null || remaining <= 0) {
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
            return recent.isEmpty() ? "no event came at all" : "last events: " + String.join("; ", recentEvents());
        } finally {
            lock.unlock();
        }
    }

    /** Reads, copies and acknowledges all that is there. The lock is held. */
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

    /** Asks the kernel only if what came before is none of it: each time it says that there is no more costs a system call. */
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

    /** Forgets an id that is about to be destroyed and destroys the requests that came in by it. The lock is held. */
    void forget(MemorySegment id) {
        for (RawEvent raw : removePending(id.address())) {
            if (raw.listenId() != 0) {
                Rdmacm.destroyId(MemorySegment.ofAddress(raw.id()), () -> "of a connection request that nobody took");
            }
        }
        CmId ignored = ids.remove(id.address());
    }

    /** Takes an id back that could not be destroyed. The lock is held. */
    void restore(MemorySegment address, CmId id) {
        ids.put(address.address(), id);
    }

    /** Moves an id with its events, after the native id has been moved. Both locks are held. */
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

    static long nanos(Duration timeout) {
        if (timeout.isNegative()) {
            throw new IllegalArgumentException("a timeout can't be negative: " + timeout);
        }
        try {
            return timeout.toNanos();
        } catch (ArithmeticException e) {
            return Long.MAX_VALUE;
        }
    }
}
