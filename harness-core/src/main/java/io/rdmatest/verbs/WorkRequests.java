package io.rdmatest.verbs;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdmatest.ffi.ibv_sge;
import io.rdmatest.internal.CMemory;
import io.rdmatest.internal.Native;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A chained native array of work requests with their scatter/gather elements.
 *
 * <p>Everything is synchronised on the array: a request that one thread posts is not changed by another meanwhile, so
 * what was checked is what the provider sees.
 */
abstract class WorkRequests implements AutoCloseable {

    /** More than any queue holds; the arrays of a larger list could not be made. */
    private static final int MOST_SEGMENTS = 1 << 24;

    private static final long SGE = ibv_sge.sizeof();
    private static final long SGE_ADDRESS = ibv_sge.addr$offset();
    private static final long SGE_LENGTH = ibv_sge.length$offset();
    private static final long SGE_LKEY = ibv_sge.lkey$offset();

    final int capacity;
    final int maxSegments;
    final long size;
    final MemorySegment requests;
    final @Nullable MemoryRegion[] regions;
    final boolean[] set;

    /** Everything native below, in one piece. Touched under the lock of this list only, and not after it is closed. */
    private final MemorySegment memory;

    private final MemorySegment segments;
    private final MemorySegment bad;
    private final long nextOffset;
    private final long segmentListOffset;
    private final long segmentCountOffset;
    private final long wrIdOffset;
    private boolean closed;
    /** The queue that has this list for requests one by one, and closes it; null for a list of its own. */
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
        this.requests = memory.asSlice(0, ofRequests);
        this.segments = memory.asSlice(ofRequests, ofSegments);
        this.bad = memory.asSlice(ofRequests + ofSegments);
        for (int i = 0; i < capacity; i++) {
            requests.set(ADDRESS, i * size + segmentListOffset, segments.asSlice(SGE * maxSegments * i));
            link(i, i + 1 < capacity);
        }
    }

    final void ownedBy(VerbsObject queue) {
        owner = queue;
    }

    private long address(int index) {
        return requests.address() + index * size;
    }

    private void link(int index, boolean toNext) {
        requests.set(JAVA_LONG, index * size + nextOffset, toNext ? address(index + 1) : 0L);
    }

    /** Returns how many requests the list holds. */
    public final int capacity() {
        return capacity;
    }

    /** Returns how many segments a request can have. */
    public final int maxSegments() {
        return maxSegments;
    }

    /** Nothing would be sent or received in silence, where memory was meant. */
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

    /** Makes the one segment of a request; of length 0 the request has none, as devices read 0 as 2^31. */
    final void begin(int index, long wrId, @Nullable MemoryRegion region, long offset, int length) {
        check(index);
        if (region != null) {
            Objects.checkFromIndexSize(offset, length, region.size());
        }
        set[index] = true;
        for (int i = 0; i < maxSegments; i++) {
            regions[index * maxSegments + i] = null;
        }
        requests.set(JAVA_LONG, index * size + wrIdOffset, wrId);
        requests.set(JAVA_INT, index * size + segmentCountOffset, 0);
        if (region != null) {
            segment(index, 0, region, offset, length);
            requests.set(JAVA_INT, index * size + segmentCountOffset, length == 0 ? 0 : 1);
        }
    }

    final void addSegment(int index, MemoryRegion region, long offset, int length) {
        checkSet(index);
        int count = requests.get(JAVA_INT, index * size + segmentCountOffset);
        if (count == maxSegments) {
            throw new IllegalStateException("request " + index + " has " + maxSegments + " segments already");
        }
        segment(index, count, region, offset, length);
        requests.set(JAVA_INT, index * size + segmentCountOffset, count + 1);
    }

    private void segment(int index, int place, MemoryRegion region, long offset, int length) {
        Objects.checkFromIndexSize(offset, length, region.size());
        long at = SGE * ((long) index * maxSegments + place);
        segments.set(JAVA_LONG, at + SGE_ADDRESS, region.address() + offset);
        segments.set(JAVA_INT, at + SGE_LENGTH, length);
        segments.set(JAVA_INT, at + SGE_LKEY, region.lkey());
        regions[index * maxSegments + place] = region;
    }

    final void setWrId(int index, long wrId) {
        requests.set(JAVA_LONG, checkSet(index) * size + wrIdOffset, wrId);
    }

    /** Moves the one segment of a request inside of its region. */
    final void moveSegment(int index, long offset, int length) {
        MemoryRegion region = regions[checkSet(index) * maxSegments];
        if (region == null) {
            throw new IllegalStateException("request " + index + " has no memory");
        }
        segment(index, 0, region, offset, length);
        int count = requests.get(JAVA_INT, index * size + segmentCountOffset);
        if (count <= 1) {
            requests.set(JAVA_INT, index * size + segmentCountOffset, length == 0 ? 0 : 1);
        }
    }

    final void checkRegions(int index) {
        for (int i = 0; i < maxSegments; i++) {
            MemoryRegion region = regions[index * maxSegments + i];
            if (region != null && region.isClosed()) {
                throw new IllegalStateException(
                        "request " + index + " uses " + region.describe() + ", which is closed");
            }
        }
    }

    /** Posts requests; all that they point to is checked and held by the caller. */
    final void downcall(String call, VerbsObject queue, MemorySegment function, int from, int count) {
        int last = from + count - 1;
        int result;
        boolean cut = last + 1 < capacity;
        // Before the list is cut: it stays whole when the queue is closed.
        queue.begin();
        try {
            if (cut) {
                link(last, false);
            }
            result = (int) Verbs.POST.invokeExact(function, queue.address, address(from), bad.address());
        } catch (Throwable e) {
            throw Native.unchecked(call, e);
        } finally {
            if (cut) {
                link(last, true);
            }
            queue.end();
        }
        if (result != 0) {
            throw failure(call, queue, result, from, count);
        }
    }

    private PostException failure(String call, VerbsObject queue, int result, int from, int count) {
        long refused = bad.get(JAVA_LONG, 0);
        // Not every provider sets it in every failure.
        bad.set(JAVA_LONG, 0, 0L);
        int index = refused == 0 ? -1 : (int) ((refused - requests.address()) / size) - from;
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
    public final synchronized void close() {
        if (!closed) {
            closed = true;
            CMemory.free(memory);
        }
    }
}
