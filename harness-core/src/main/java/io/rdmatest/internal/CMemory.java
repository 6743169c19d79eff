package io.rdmatest.internal;

import java.lang.foreign.MemorySegment;

/**
 * Memory of the C library, calloc(3) and aligned_alloc(3). The owner must make sure that nobody uses it after it is freed.
 *
 * <p>A shared arena checks this, but closing it stops every thread of the JVM for a moment. That is too much for the
 * memory of each queue pair: four stops for a connection with both ends in one JVM.
 */
public final class CMemory {

    /**
     * All memory of the process, for data paths: an access by its address is one instruction, in code so small that the JIT compiler
     * puts it into its callers. Nothing is checked: the one who asks has checked that the address is inside of what it owns.
     */
    public static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    private CMemory() {}

    /**
     * Allocates zeroed memory, aligned for every type of C.
     *
     * @param bytes the size, at least 1
     * @return the memory; only {@link #free} frees it
     * @throws OutOfMemoryError if calloc fails
     */
    public static MemorySegment allocate(long bytes) {
        MemorySegment memory = Libc.calloc(1, bytes);
        if (memory.address() == 0) {
            throw new OutOfMemoryError("calloc(3) can't allocate " + bytes + " bytes");
        }
        return memory.reinterpret(bytes);
    }

    /**
     * Allocates zeroed memory on a boundary.
     *
     * @param bytes how many, from 1
     * @param alignment a power of two, at least the size of a pointer
     * @return the memory, which nothing but {@link #free} ever frees
     * @throws OutOfMemoryError if there is not so much
     */
    public static MemorySegment allocate(long bytes, long alignment) {
        MemorySegment memory = Libc.alignedAlloc(alignment, (bytes + alignment - 1) / alignment * alignment);
        if (memory.address() == 0) {
            throw new OutOfMemoryError("the C library has no " + bytes + " bytes (aligned_alloc)");
        }
        return memory.reinterpret(bytes).fill((byte) 0);
    }

    /**
     * Frees memory.
     *
     * @param memory the whole result of {@link #allocate}, not freed yet; nobody may use any part of it afterwards
     */
    public static void free(MemorySegment memory) {
        Libc.free(memory);
    }
}
