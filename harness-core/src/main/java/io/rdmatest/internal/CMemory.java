package io.rdmatest.internal;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * Memory of the C library, calloc(3). The owner must make sure that nobody uses it after it is freed.
 *
 * <p>A shared arena checks this, but closing it stops every thread of the JVM for a moment. That is too much for the
 * memory of each queue pair: four stops for a connection with both ends in one JVM.
 */
public final class CMemory {

    private static final Linker LINKER = Linker.nativeLinker();
    private static final MethodHandle CALLOC = LINKER.downcallHandle(
            LINKER.defaultLookup().findOrThrow("calloc"), FunctionDescriptor.of(ADDRESS, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle FREE =
            LINKER.downcallHandle(LINKER.defaultLookup().findOrThrow("free"), FunctionDescriptor.ofVoid(ADDRESS));

    private CMemory() {}

    /**
     * Allocates zeroed memory, aligned for every type of C.
     *
     * @param bytes the size, at least 1
     * @return the memory; only {@link #free} frees it
     * @throws OutOfMemoryError if calloc fails
     */
    public static MemorySegment allocate(long bytes) {
        MemorySegment memory;
        try {
            memory = (MemorySegment) CALLOC.invokeExact(1L, bytes);
        } catch (Throwable e) {
            throw Native.unchecked("calloc", e);
        }
        if (memory.address() == 0) {
            throw new OutOfMemoryError("calloc(3) can't allocate " + bytes + " bytes");
        }
        return memory.reinterpret(bytes);
    }

    /**
     * Frees memory.
     *
     * @param memory the whole result of {@link #allocate}, not freed yet; nobody may use any part of it afterwards
     */
    public static void free(MemorySegment memory) {
        try {
            FREE.invokeExact(memory);
        } catch (Throwable e) {
            throw Native.unchecked("free", e);
        }
    }
}
