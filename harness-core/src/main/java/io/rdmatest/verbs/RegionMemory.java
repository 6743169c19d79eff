package io.rdmatest.verbs;

import io.rdmatest.internal.CMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The memory of a region, and the view of it that the JVM checks.
 *
 * <p>To close the arena of a view stops every thread of the JVM for a moment. So small memory is of the C library, and has an arena
 * only from the first look at its bytes on: a region that no Java code looks at is closed without one. Large memory, where that
 * moment counts for nothing beside registering it, is of an arena from the start, and within -XX:MaxDirectMemorySize.
 */
final class RegionMemory {

    static final long MOST_OF_C = 1 << 20;

    private final MemorySegment whole;
    private final boolean ofC;
    /** Null before the first look at memory of the C library. Guarded by this. */
    private @Nullable Arena arena;

    private volatile @Nullable MemorySegment bytes;
    /** Guarded by this. */
    private boolean freed;

    private RegionMemory(MemorySegment whole, boolean ofC, @Nullable Arena arena) {
        this.whole = whole;
        this.ofC = ofC;
        this.arena = arena;
        this.bytes = ofC ? null : whole;
    }

    static RegionMemory of(Arena arena, MemorySegment whole) {
        return new RegionMemory(whole, false, arena);
    }

    /** Allocates zeroed memory of the C library. */
    static RegionMemory ofC(long size, long alignment) {
        return new RegionMemory(CMemory.allocate(size, alignment), true, null);
    }

    long address() {
        return whole.address();
    }

    long size() {
        return whole.byteSize();
    }

    /** Returns the memory for the C library, and for calls that hold the region. */
    MemorySegment whole() {
        return whole;
    }

    /** Returns the memory for everybody: access throws once it is freed. */
    MemorySegment bytes() {
        MemorySegment made = bytes;
        return made == null ? look() : made;
    }

    private synchronized MemorySegment look() {
        MemorySegment made = bytes;
        if (made == null) {
            Arena checked = Arena.ofShared();
            made = whole.reinterpret(checked, null);
            if (freed) {
                // Before anybody else sees it: access to it throws from the start.
                checked.close();
            } else {
                arena = checked;
            }
            bytes = made;
        }
        return made;
    }

    /**
     * Frees the memory.
     *
     * @throws IllegalStateException if somebody holds it in a native call of their own; it is not freed then
     */
    synchronized void free() {
        if (arena != null) {
            arena.close();
        }
        freed = true;
        if (ofC) {
            CMemory.free(whole);
        }
    }
}
