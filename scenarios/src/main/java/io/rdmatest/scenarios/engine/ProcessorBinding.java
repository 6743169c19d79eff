package io.rdmatest.scenarios.engine;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.BitSet;

/**
 * Binds the calling thread, and the threads that it starts, to processors until it is closed by the same thread
 * (sched_setaffinity(2)). The thread must be a platform thread.
 */
public final class ProcessorBinding implements AutoCloseable {

    /** The largest number of processors that Linux supports. */
    public static final int MOST = 8192;

    private static final int MASK_BYTES = MOST / Byte.SIZE;

    /** The calls, found when the first thread is bound. */
    private static final class Calls {

        static final MethodHandle GET = handle("sched_getaffinity");
        static final MethodHandle SET = handle("sched_setaffinity");

        private static MethodHandle handle(String name) {
            return Linker.nativeLinker()
                    .downcallHandle(
                            Linker.nativeLinker().defaultLookup().findOrThrow(name),
                            FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS));
        }

        /** Tells whether the calling thread's mask was read or set. */
        static boolean succeeds(MethodHandle call, MemorySegment mask) {
            try {
                return (int) call.invokeExact(0, (long) MASK_BYTES, mask) == 0;
            } catch (Throwable e) {
                throw new IllegalStateException("A call of the C library failed", e);
            }
        }
    }

    private final BitSet before;

    private ProcessorBinding(BitSet before) {
        this.before = before;
    }

    /**
     * Binds the calling thread.
     *
     * @param processors as the kernel numbers them, 0 to 8191; at least one
     * @return the binding, which ends when it is closed
     * @throws IllegalStateException if this thread may use none of them
     */
    public static ProcessorBinding to(BitSet processors) {
        BitSet before = allowed();
        if (!set(processors)) {
            throw new IllegalStateException("The kernel does not let this process run on "
                    + (processors.cardinality() == 1
                            ? "processor " + processors.nextSetBit(0)
                            : "processors " + processors)
                    + " (taskset, cpuset)");
        }
        return new ProcessorBinding(before);
    }

    /** Returns the existing processors that the calling thread may use, as sched_getaffinity(2) does. */
    public static BitSet allowed() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment mask = arena.allocate(MASK_BYTES, Long.BYTES);
            if (!Calls.succeeds(Calls.GET, mask)) {
                throw new IllegalStateException("The kernel does not tell which processors this process may use");
            }
            return BitSet.valueOf(mask.toArray(JAVA_LONG));
        }
    }

    private static boolean set(BitSet processors) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment mask = arena.allocate(MASK_BYTES, Long.BYTES);
            long[] words = processors.toLongArray();
            MemorySegment.copy(words, 0, mask, JAVA_LONG, 0, words.length);
            return Calls.succeeds(Calls.SET, mask);
        }
    }

    @Override
    public void close() {
        if (!set(before)) {
            throw new IllegalStateException("The kernel does not let this thread back to its processors");
        }
    }
}
