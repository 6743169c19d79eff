package io.rdmatest.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/**
 * The errno of a downcall.
 *
 * <p>The first parameter of a handle that captures errno, see {@link Downcall}, is the calling thread's {@link #errnoState()}; the value is read with
 * {@link #errno()} right after the call.
 */
public final class Native {

    static final Linker.Option CAPTURE = Linker.Option.captureCallState("errno");
    private static final StructLayout STATE = Linker.Option.captureStateLayout();
    private static final long ERRNO = STATE.byteOffset(MemoryLayout.PathElement.groupElement("errno"));
    private static final ThreadLocal<MemorySegment> ERRNO_STATE =
            ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(STATE));

    private Native() {}

    /** Returns the calling thread's capture state: the first argument of every capturing handle. */
    public static MemorySegment errnoState() {
        return ERRNO_STATE.get();
    }

    /** Returns the errno of the calling thread's last capturing call. */
    public static int errno() {
        return ERRNO_STATE.get().get(ValueLayout.JAVA_INT, ERRNO);
    }

    /**
     * Converts a throwable of a MethodHandle to an unchecked exception.
     *
     * @param call the C function
     * @param thrown the throwable of {@code invokeExact}
     * @return the exception to throw
     */
    public static RuntimeException unchecked(String call, Throwable thrown) {
        if (thrown instanceof RuntimeException e) {
            return e;
        }
        if (thrown instanceof Error e) {
            throw e;
        }
        return new IllegalStateException(call + " threw " + thrown, thrown);
    }

    /**
     * Reads a C string.
     *
     * @param address its first byte; may be null
     * @param limit the longest length in bytes
     * @return the string; empty for a null address
     */
    public static String string(MemorySegment address, long limit) {
        return address.address() == 0 ? "" : address.reinterpret(limit).getString(0);
    }
}
