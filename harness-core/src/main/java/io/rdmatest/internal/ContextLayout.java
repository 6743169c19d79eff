package io.rdmatest.internal;

import io.rdmatest.ffi.ibv_context;
import io.rdmatest.ffi.pthread_mutex_t;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The end of struct ibv_context, which differs by architecture: a mutex of the C library stands before it. The generated bindings
 * have the mutex of x86-64. No other field of the bindings that this project reads stands behind a mutex; a test checks that.
 */
public final class ContextLayout {

    /** The offset of the field abi_compat in bytes. */
    public static final long ABI_COMPAT = ibv_context.mutex$offset() + mutexSize(System.getProperty("os.arch"));

    /** The size of the struct in bytes. */
    public static final long SIZE = ABI_COMPAT + ValueLayout.ADDRESS.byteSize();

    private ContextLayout() {}

    /** Returns the size of pthread_mutex_t, in bytes, that glibc has on an architecture of 64 bits. */
    static long mutexSize(String architecture) {
        return architecture.equals("aarch64") ? 48 : pthread_mutex_t.sizeof();
    }

    /**
     * Tells whether a struct verbs_context is around an ibv_context.
     *
     * @param context the struct, of {@link #SIZE} bytes
     * @return true if its field abi_compat has all bits set (infiniband/verbs.h, verbs_get_ctx)
     */
    public static boolean isExtended(MemorySegment context) {
        return context.get(ValueLayout.ADDRESS, ABI_COMPAT).address() == -1L;
    }
}
