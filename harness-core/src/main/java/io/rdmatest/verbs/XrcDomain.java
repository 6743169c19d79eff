package io.rdmatest.verbs;

import io.rdmatest.ffi.ibv_xrcd;
import io.rdmatest.ffi.ibv_xrcd_init_attr;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.ffi.verbs_context;
import io.rdmatest.internal.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/**
 * An XRC domain: it joins the receiving ends of extended reliable connections with the shared receive queues for their messages
 * (ibv_open_xrcd(3); IBTA volume 1, annex A14).
 *
 * <p>A queue pair that {@linkplain QueuePairAttributes.Builder#xrcInitiator sends} names the shared receive queue in each
 * request. So one connection to a host serves all receivers there. {@link ProtectionDomain#createSharedReceiveQueue(XrcDomain,
 * CompletionQueue, int, int)} makes such a queue, {@link #createTarget()} the receiving end.
 */
public final class XrcDomain extends VerbsObject {

    private static final int COMP_MASK = 3;
    private static final int NO_FILE = -1;
    /** From fcntl.h. A domain without a file is always new. */
    private static final int O_CREAT = 0x40;

    private final DeviceContext context;

    private XrcDomain(DeviceContext context, MemorySegment handle) {
        this.context = context;
        super("xrcd", handle, context.deviceName(), context);
    }

    static XrcDomain open(DeviceContext context) {
        context.begin();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment made = MemorySegment.NULL;
            int errno = rdma_h.EOPNOTSUPP();
            Optional<MemorySegment> function = context.extended(verbs_context::open_xrcd);
            if (function.isPresent()) {
                MemorySegment init = ibv_xrcd_init_attr.allocate(arena);
                ibv_xrcd_init_attr.comp_mask(init, COMP_MASK);
                ibv_xrcd_init_attr.fd(init, NO_FILE);
                ibv_xrcd_init_attr.oflags(init, O_CREAT);
                made = (MemorySegment)
                        Verbs.OPEN_XRCD.handle().invokeExact(function.get(), Native.errnoState(), context.handle, init);
                errno = Native.errno();
            }
            if (made.address() == 0) {
                throw context.failure("ibv_open_xrcd", context.deviceName(), errno, DeviceCapability.XRC);
            }
            MemorySegment domain = made.reinterpret(ibv_xrcd.sizeof());
            try {
                return new XrcDomain(context, domain);
            } catch (IllegalStateException e) {
                close(context, domain, context.deviceName());
                throw e;
            }
        } catch (Throwable e) {
            throw Native.unchecked("ibv_open_xrcd", e);
        } finally {
            context.end();
        }
    }

    private static void close(DeviceContext context, MemorySegment domain, String operands) {
        int result;
        try {
            MemorySegment function = context.extended(verbs_context::close_xrcd).orElseThrow();
            result = (int) Verbs.CLOSE_XRCD.handle().invokeExact(function, Native.errnoState(), domain);
        } catch (Throwable e) {
            throw Native.unchecked("ibv_close_xrcd", e);
        }
        Verbs.checkDestroyed(result, "ibv_close_xrcd", operands);
    }

    /** Returns the device. */
    public DeviceContext context() {
        return context;
    }

    /**
     * Creates the receiving end of an extended reliable connection, in the state RESET (ibv_create_qp_ex(3), IBV_QPT_XRC_RECV).
     *
     * @return the receiving end; {@link RawConnection#connect(XrcTarget, RawAddress, RawAddress, RawConnection.Parameters)} connects it
     */
    public XrcTarget createTarget() {
        return XrcTarget.create(this);
    }

    @Override
    protected void release() {
        close(context, handle, describe());
    }

    @Override
    public String describe() {
        return "xrcd " + deviceName() + "/0x" + Long.toHexString(address);
    }
}
