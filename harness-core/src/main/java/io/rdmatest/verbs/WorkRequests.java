package io.rdmatest.verbs;

import static io.rdmatest.internal.CMemory.ALL;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdmatest.Cause;
import io.rdmatest.ffi.ibv_sge;
import io.rdmatest.internal.BiasedLock;
import io.rdmatest.internal.CMemory;
import io.rdmatest.internal.Native;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A chained native array of work requests with their scatter/gather elements.
 *
 * <p>Every operation holds the lock of the list. So no other thread changes a request while one thread posts it, and the provider
 * sees exactly what was checked. The lock costs nothing for a list that only one thread uses.
 */
abstract class WorkRequests implements AutoCloseable {

    /** More than any queue holds; the arrays of a larger list could not be made. */
    private static final int MOST_SEGMENTS = 1 << 24;

    /** The most requests of one critical call. The JVM can't stop its threads before it returns: some microseconds at most. */
    private static final int MOST_IN_ONE_CRITICAL_CALL = 64;

    private static final long SGE = ibv_sge.sizeof();
    private static final long SGE_ADDRESS = ibv_sge.addr$offset();
    private static final long SGE_LENGTH = ibv_sge.length$offset();
    private static final long SGE_LKEY = ibv_sge.lkey$offset();

    final int capacity;
    final int maxSegments;
    final long size;
    final @Nullable MemoryRegion[] regions;
    final boolean[] set;

    /** All native memory of the list, in one piece. Accessed only under the lock of this list, and not after it is closed. */
    private final MemorySegment memory;

    private final BiasedLock lock = new BiasedLock();
    /** The addresses of the requests, of their segments, and of the pointer that a provider sets to the bad request. */
    final long requests;

    private final long segments;
    private final long bad;
    private final long nextOffset;
    private final long segmentListOffset;
    private final long segmentCountOffset;
    private final long wrIdOffset;
    private boolean closed;
    /** How many requests are set. */
    private int setCount;
    /** The first region of the list, and whether there was another one beside it. */
    private @Nullable MemoryRegion region;

    private boolean severalRegions;
    /** The queue that uses this list for single requests, and closes it; null for a list of a caller. */
    private @Nullable VerbsObject owner;

    WorkRequests(
            int capacity,
            int maxSegments,
            long size,
            long wrIdOffset,
            long nextOffset,
            long segmentListOffset,
            long segmentCountOffset) {
        if (capacity < 1 || maxSegments < 1) {
            throw new IllegalArgumentException(
                    "a list has at least 1 request of 1 segment, not " + capacity + " of " + maxSegments);
        }
        if ((long) capacity * maxSegments > MOST_SEGMENTS) {
            throw new IllegalArgumentException("a list has at most " + MOST_SEGMENTS + " segments in all, not "
                    + capacity + " requests of " + maxSegments);
        }
        this.capacity = capacity;
        this.maxSegments = maxSegments;
        this.size = size;
        this.wrIdOffset = wrIdOffset;
        this.nextOffset = nextOffset;
        this.segmentListOffset = segmentListOffset;
        this.segmentCountOffset = segmentCountOffset;
        this.regions = new MemoryRegion[capacity * maxSegments];
        this.set = new boolean[capacity];
        long ofRequests = size * capacity;
        long ofSegments = SGE * capacity * maxSegments;
        this.memory = CMemory.allocate(ofRequests + ofSegments + ADDRESS.byteSize());
        this.requests = memory.address();
        this.segments = requests + ofRequests;
        this.bad = segments + ofSegments;
        for (int i = 0; i < capacity; i++) {
            ALL.set(JAVA_LONG, address(i) + segmentListOffset, segments + SGE * maxSegments * i);
            link(i, i + 1 < capacity);
        }
    }

    final void ownedBy(VerbsObject queue) {
        owner = queue;
    }

    /** Keeps other threads off the list until {@link #unlock()}, in a finally block. */
    final void lock() {
        lock.lock();
    }

    final void unlock() {
        lock.unlock();
    }

    private long address(int index) {
        return requests + index * size;
    }

    private void link(int index, boolean toNext) {
        ALL.set(JAVA_LONG, address(index) + nextOffset, toNext ? address(index + 1) : 0L);
    }

    /** Returns how many requests the list holds. */
    public final int capacity() {
        return capacity;
    }

    /** Returns how many segments a request can have. */
    public final int maxSegments() {
        return maxSegments;
    }

    /** Refuses a null region: the request would silently send or receive nothing. */
    static MemoryRegion requireMemory(MemoryRegion region) {
        return Objects.requireNonNull(region, "region");
    }

    final int check(int index) {
        if (closed) {
            VerbsObject queue = owner;
            throw new IllegalStateException(
                    (queue == null ? "the list of work requests" : queue.describe()) + " is closed");
        }
        return Objects.checkIndex(index, capacity);
    }

    final int checkSet(int index) {
        if (!set[check(index)]) {
            throw new IllegalStateException("request " + index + " is not set");
        }
        return index;
    }

    /**
     * Sets the one segment of a request. With length 0 the request has no segment, because devices read a length of 0 as 2^31.
     */
    final void begin(int index, long wrId, @Nullable MemoryRegion region, long offset, int length) {
        check(index);
        if (region != null) {
            Objects.checkFromIndexSize(offset, length, region.size());
        }
        if (!set[index]) {
            set[index] = true;
            setCount++;
        }
        for (int i = 0; i < maxSegments; i++) {
            regions[index * maxSegments + i] = null;
        }
        if (capacity == 1) {
            this.region = null;
            severalRegions = false;
        }
        ALL.set(JAVA_LONG, address(index) + wrIdOffset, wrId);
        ALL.set(JAVA_INT, address(index) + segmentCountOffset, 0);
        if (region != null) {
            putSegment(index, 0, region, offset, length);
            ALL.set(JAVA_INT, address(index) + segmentCountOffset, length == 0 ? 0 : 1);
        }
    }

    final void addSegment(int index, MemoryRegion region, long offset, int length) {
        checkSet(index);
        int count = ALL.get(JAVA_INT, address(index) + segmentCountOffset);
        if (count == maxSegments) {
            throw new IllegalStateException("request " + index + " has " + maxSegments + " segments already");
        }
        putSegment(index, count, region, offset, length);
        ALL.set(JAVA_INT, address(index) + segmentCountOffset, count + 1);
    }

    private void putSegment(int index, int place, MemoryRegion region, long offset, int length) {
        Objects.checkFromIndexSize(offset, length, region.size());
        long at = segments + SGE * ((long) index * maxSegments + place);
        ALL.set(JAVA_LONG, at + SGE_ADDRESS, region.address() + offset);
        ALL.set(JAVA_INT, at + SGE_LENGTH, length);
        ALL.set(JAVA_INT, at + SGE_LKEY, region.lkey());
        regions[index * maxSegments + place] = region;
        severalRegions |= this.region != null && this.region != region;
        this.region = region;
    }

    /**
     * Changes a request's identifier, without allocation.
     *
     * @param index the request
     * @param wrId comes back in the completion
     */
    public final void wrId(int index, long wrId) {
        lock();
        try {
            ALL.set(JAVA_LONG, address(checkSet(index)) + wrIdOffset, wrId);
        } finally {
            unlock();
        }
    }

    /**
     * Changes where a request's first segment lies in its region, without allocation.
     *
     * @param index the request
     * @param offset where it begins in the region
     * @param length bytes
     */
    public final void segment(int index, long offset, int length) {
        lock();
        try {
            MemoryRegion here = regions[checkSet(index) * maxSegments];
            if (here == null) {
                throw new IllegalStateException("request " + index + " has no memory");
            }
            putSegment(index, 0, here, offset, length);
            int count = ALL.get(JAVA_INT, address(index) + segmentCountOffset);
            if (count <= 1) {
                ALL.set(JAVA_INT, address(index) + segmentCountOffset, length == 0 ? 0 : 1);
            }
        } finally {
            unlock();
        }
    }

    /**
     * Checks that the requests are set, that their memory is open, and that the queue can access it: a key is valid in its own
     * protection domain only (IBTA volume 1, section 10.2.3).
     */
    final void checkRequests(int from, int count, VerbsObject queue, ProtectionDomain domain) {
        MemoryRegion only = region;
        if (setCount == capacity
                && !severalRegions
                && (only == null || !only.isClosed() && only.protectionDomain() == domain)) {
            return;
        }
        for (int i = from; i < from + count; i++) {
            checkRegions(checkSet(i), queue, domain);
        }
    }

    private void checkRegions(int index, VerbsObject queue, ProtectionDomain domain) {
        for (int i = 0; i < maxSegments; i++) {
            MemoryRegion region = regions[index * maxSegments + i];
            if (region != null && region.isClosed()) {
                throw new IllegalStateException(
                        "request " + index + " uses " + region.describe() + ", which is closed");
            }
            if (region != null && region.protectionDomain() != domain && needsKeys(index)) {
                throw new ForeignMemoryException(region, queue, domain);
            }
        }
    }

    /** Tells whether the device needs the keys of a request's regions to access their memory. */
    boolean needsKeys(int index) {
        return true;
    }

    /** The memory of a request and the queue that it is posted to are of different protection domains. */
    private static final class ForeignMemoryException extends IllegalArgumentException implements Cause.Carrier {
        private static final long serialVersionUID = 1L;

        ForeignMemoryException(MemoryRegion region, VerbsObject queue, ProtectionDomain domain) {
            super(region.describe() + " is of " + region.protectionDomain().describe() + ", and " + queue.describe()
                    + " is of " + domain.describe() + ": register the memory in the protection domain of the queue");
        }

        @Override
        public Cause rdmaCause() {
            return Cause.WRONG_USE;
        }
    }

    /**
     * Posts requests. The caller has checked and holds all objects that they point to, and it holds the queue.
     *
     * @param inUserSpace whether the provider posts without the kernel
     */
    final void downcall(
            String call, VerbsObject queue, MemorySegment function, boolean inUserSpace, int from, int count) {
        int last = from + count - 1;
        int result;
        boolean cut = last + 1 < capacity;
        if (cut) {
            link(last, false);
        }
        try {
            if (inUserSpace && count <= MOST_IN_ONE_CRITICAL_CALL) {
                result = (int) Verbs.POST_IN_USER_SPACE.invokeExact(function, queue.address, address(from), bad);
            } else {
                result = (int) Verbs.POST.invokeExact(function, queue.address, address(from), bad);
            }
        } catch (Throwable e) {
            throw Native.unchecked(call, e);
        } finally {
            if (cut) {
                link(last, true);
            }
        }
        if (result != 0) {
            throw failure(call, queue, result, from, count);
        }
    }

    private PostException failure(String call, VerbsObject queue, int result, int from, int count) {
        long refused = ALL.get(JAVA_LONG, bad);
        // Not every provider sets it in every failure.
        ALL.set(JAVA_LONG, bad, 0L);
        int index = refused == 0 ? -1 : (int) ((refused - requests) / size) - from;
        return new PostException(call, queue.describe(), result, index >= 0 && index < count ? index : -1, count);
    }

    final void checkRange(int from, int count) {
        check(0);
        if (count < 1) {
            throw new IllegalArgumentException("at least 1 request is posted, not " + count);
        }
        Objects.checkFromIndexSize(from, count, capacity);
    }

    /** Frees the native array; does nothing the second time. Requests that were posted are not affected. */
    @Override
    public final void close() {
        lock();
        try {
            free();
        } finally {
            unlock();
        }
    }

    /**
     * Frees the native array without the lock, for the queue that owns the list. The queue is destroyed by now, and every call on
     * it has ended.
     */
    final void free() {
        if (!closed) {
            closed = true;
            CMemory.free(memory);
        }
    }
}
