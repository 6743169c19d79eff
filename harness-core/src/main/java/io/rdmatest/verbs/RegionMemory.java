package io.rdmatest.verbs;

import io.rdmatest.internal.CMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The memory of a region, and the view of it whose accesses the JVM checks.
 *
 * <p>Closing the arena of a view stops every thread of the JVM for a moment. So small memory comes from the C library, and gets
 * an arena only at the first access to its bytes. A region that no Java code accesses is closed without an arena. Large memory
 * comes from an arena from the start, because that moment is short compared with its registration. Large memory counts towards
 * -XX:MaxDirectMemorySize.
 *
 * <p>Memory that the caller provides is never freed here. Memory of another device, and the whole address space, have no view.
 */
final class RegionMemory {

    static final long MOST_OF_C = 1 << 20;

    private enum Kind {
        OF_C,
        OF_ARENA,
        OF_CALLER,
        OF_DEVICE,
        ADDRESS_SPACE
    }

    private final MemorySegment whole;
    private final Kind kind;
    /** Null for memory of the C library before the first access to its bytes. Guarded by this. */
    private @Nullable Arena arena;

    private volatile @Nullable MemorySegment bytes;
    /** Guarded by this. */
    private boolean freed;

    private RegionMemory(MemorySegment whole, Kind kind, @Nullable Arena arena) {
        this.whole = whole;
        this.kind = kind;
        this.arena = arena;
        this.bytes = kind == Kind.OF_ARENA || kind == Kind.OF_CALLER ? whole : null;
    }

    static RegionMemory of(Arena arena, MemorySegment whole) {
        return new RegionMemory(whole, Kind.OF_ARENA, arena);
    }

    /** Allocates zeroed memory of the C library. */
    static RegionMemory ofC(long size, long alignment) {
        return new RegionMemory(CMemory.allocate(size, alignment), Kind.OF_C, null);
    }

    /** Takes memory that the caller has allocated and will free. */
    static RegionMemory ofCaller(MemorySegment whole) {
        return new RegionMemory(whole, Kind.OF_CALLER, null);
    }

    /** Stands for addresses of another device's memory. */
    static RegionMemory ofDevice(long address, long size) {
        return new RegionMemory(MemorySegment.ofAddress(address).reinterpret(size), Kind.OF_DEVICE, null);
    }

    /** Stands for whatever the process has in its address space. */
    static RegionMemory ofAddressSpace() {
        return new RegionMemory(MemorySegment.NULL.reinterpret(Long.MAX_VALUE), Kind.ADDRESS_SPACE, null);
    }

    /** Tells whether all addresses are mapped in this process, so that the processor can read them. */
    boolean isReadByCpu() {
        return kind != Kind.OF_DEVICE && kind != Kind.ADDRESS_SPACE;
    }

    long address() {
        return whole.address();
    }

    long size() {
        return whole.byteSize();
    }

    /** Returns the memory, for the C library and for callers that hold the region. */
    MemorySegment whole() {
        requireView();
        return whole;
    }

    /** Tells whether the caller has freed the memory that it registered. */
    boolean isLost() {
        return kind == Kind.OF_CALLER && !whole.scope().isAlive();
    }

    private void requireView() {
        if (kind == Kind.OF_DEVICE || kind == Kind.ADDRESS_SPACE) {
            throw new UnsupportedOperationException(
                    "the region has no memory of its own that Java code could look at: use the memory that it stands for");
        }
    }

    /** Returns the memory for any caller. Access throws once the memory is freed. */
    MemorySegment bytes() {
        MemorySegment made = bytes;
        return made == null ? look() : made;
    }

    private synchronized MemorySegment look() {
        requireView();
        MemorySegment made = bytes;
        if (made == null) {
            Arena checked = Arena.ofShared();
            made = whole.reinterpret(checked, null);
            if (freed) {
                // Closed before any other thread sees the view: access to it throws from the start.
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
     * @throws IllegalStateException if another native call uses the memory; the memory is then not freed
     */
    synchronized void free() {
        if (arena != null) {
            arena.close();
        }
        freed = true;
        if (kind == Kind.OF_C) {
            CMemory.free(whole);
        }
    }
}
