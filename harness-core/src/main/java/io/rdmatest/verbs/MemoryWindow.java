package io.rdmatest.verbs;

import io.rdmatest.ffi.ibv_context;
import io.rdmatest.ffi.ibv_context_ops;
import io.rdmatest.ffi.ibv_mw;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.internal.Native;
import java.lang.foreign.MemorySegment;

/**
 * A window onto a part of a memory region, with a key of its own. Work requests bind and unbind it (ibv_alloc_mw(3),
 * ibv_bind_mw(3); IBTA volume 1, section 10.6.7).
 *
 * <p>{@link QueuePair#postBind} binds it. The region needs {@link Access#MEMORY_WINDOW_BIND}, and {@link Access#LOCAL_WRITE} if the
 * peer may write. A region can't be closed while a window is bound to it: close the window first.
 */
public final class MemoryWindow extends VerbsObject {

    /** How a window is bound and unbound (enum ibv_mw_type). */
    public enum Type {
        /** Bound by ibv_bind_mw(3), for every queue pair of the protection domain. Binding it anew, or to 0 bytes, unbinds it. */
        TYPE_1(1),
        /**
         * Bound by a request on the send queue. {@link QueuePair#postInvalidate} or the peer's
         * {@link QueuePair#postSendWithInvalidate} unbinds it. It must be unbound before it is bound again.
         */
        TYPE_2(2);

        private final int code;

        Type(int code) {
            this.code = code;
        }
    }

    /** The bits of a key that the program chooses when it binds the window. */
    private static final int OWN_BITS = 0xff;

    private final ProtectionDomain protectionDomain;
    private final Type type;
    private final int number;
    private volatile int rkey;

    private MemoryWindow(ProtectionDomain protectionDomain, Type type, MemorySegment handle) {
        this.protectionDomain = protectionDomain;
        this.type = type;
        this.number = ibv_mw.handle(handle);
        this.rkey = ibv_mw.rkey(handle);
        super("mw", handle, protectionDomain.deviceName(), protectionDomain);
    }

    static MemoryWindow allocate(ProtectionDomain pd, Type type) {
        DeviceContext context = pd.context();
        String operands = pd.describe() + ", " + type;
        pd.begin();
        try {
            MemorySegment function = ibv_context_ops.alloc_mw(ibv_context.ops(context.handle));
            MemorySegment made = MemorySegment.NULL;
            int errno = rdma_h.EOPNOTSUPP();
            if (function.address() != 0) {
                made = (MemorySegment)
                        Verbs.ALLOC_MW.handle().invokeExact(function, Native.errnoState(), pd.handle, type.code);
                errno = Native.errno();
            }
            if (made.address() == 0) {
                throw context.failure(
                        "ibv_alloc_mw",
                        operands,
                        errno,
                        type == Type.TYPE_1 ? DeviceCapability.MEMORY_WINDOWS : DeviceCapability.MEMORY_WINDOWS_TYPE_2);
            }
            MemorySegment mw = made.reinterpret(ibv_mw.sizeof());
            try {
                return new MemoryWindow(pd, type, mw);
            } catch (IllegalStateException e) {
                destroy(context, mw, operands);
                throw e;
            }
        } catch (Throwable e) {
            throw Native.unchecked("ibv_alloc_mw", e);
        } finally {
            pd.end();
        }
    }

    private static void destroy(DeviceContext context, MemorySegment mw, String operands) {
        int result;
        try {
            result = (int) Verbs.DEALLOC_MW
                    .handle()
                    .invokeExact(ibv_context_ops.dealloc_mw(ibv_context.ops(context.handle)), Native.errnoState(), mw);
        } catch (Throwable e) {
            throw Native.unchecked("ibv_dealloc_mw", e);
        }
        Verbs.checkDestroyed(result, "ibv_dealloc_mw", operands);
    }

    /** Returns the protection domain. */
    public ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    /** Returns how it is bound. */
    public Type type() {
        return type;
    }

    /**
     * Returns the key that a peer needs for remote access, as the last posted bind set it. A bind that completes with an error
     * leaves this key here, while the device may keep the former one: close the window then, and create another one.
     */
    public int rkey() {
        return rkey;
    }

    /** Returns the key that the next bind of a window of type 2 may give it (ibv_inc_rkey(3)). */
    int nextKey() {
        int key = rkey;
        return key & ~OWN_BITS | key + 1 & OWN_BITS;
    }

    /**
     * Sets the key that a request is about to give to a window of type 2. It is set before the post, because another thread may
     * poll the completion before the post returns.
     *
     * @return the key that the window had before
     */
    int bindTo(int key) {
        int former = rkey;
        rkey = key;
        return former;
    }

    /** Restores the former key after a request that was not posted. */
    void notBoundTo(int key, int former) {
        if (rkey == key) {
            rkey = former;
        }
    }

    /** Stores the key of a posted request in the C struct, where the provider looks for the present key. */
    void bound(int key) {
        ibv_mw.rkey(handle, key);
    }

    /** Reads the key that ibv_bind_mw(3) has set. */
    int readKey() {
        int key = ibv_mw.rkey(handle);
        rkey = key;
        return key;
    }

    @Override
    protected void release() {
        destroy(protectionDomain.context(), handle, describe());
    }

    @Override
    public String describe() {
        return "mw " + deviceName() + "/" + number;
    }
}
