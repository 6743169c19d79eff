package io.rdmatest.verbs;

import io.rdmatest.RdmaException;
import io.rdmatest.ffi.ibv_qp;
import io.rdmatest.ffi.ibv_qp_attr;
import io.rdmatest.ffi.ibv_qp_init_attr;
import io.rdmatest.ffi.ibv_qp_init_attr_ex;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.ffi.verbs_context;
import io.rdmatest.internal.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The receiving end of an extended reliable connection (IBV_QPT_XRC_RECV; IBTA volume 1, annex A14).
 *
 * <p>Nothing is posted to it. The sender names a shared receive queue of the domain. The message goes to that queue, and
 * completes on its completion queue.
 */
public final class XrcTarget extends VerbsObject {

    private static final int XRC_RECV = 10;

    private final XrcDomain domain;
    private final int number;

    private XrcTarget(XrcDomain domain, MemorySegment handle) {
        this.domain = domain;
        this.number = ibv_qp.qp_num(handle);
        super("qp", handle, domain.deviceName(), domain);
        reportEventsAs();
    }

    static XrcTarget create(XrcDomain domain) {
        DeviceContext context = domain.context();
        domain.begin();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment function = context.extended(verbs_context::create_qp_ex)
                    .orElseThrow(() -> new RdmaException("ibv_create_qp_ex", domain.describe(), rdma_h.EOPNOTSUPP()));
            MemorySegment init = ibv_qp_init_attr_ex.allocate(arena);
            ibv_qp_init_attr_ex.qp_type(init, XRC_RECV);
            ibv_qp_init_attr_ex.comp_mask(init, rdma_h.IBV_QP_INIT_ATTR_XRCD());
            ibv_qp_init_attr_ex.xrcd(init, domain.handle);
            MemorySegment made = (MemorySegment)
                    Verbs.CREATE_QP_EX.handle().invokeExact(function, Native.errnoState(), context.handle, init);
            MemorySegment qp =
                    Verbs.made(made, "ibv_create_qp_ex", domain.describe()).reinterpret(ibv_qp.sizeof());
            try {
                return new XrcTarget(domain, qp);
            } catch (IllegalStateException e) {
                Verbs.destroy(Verbs.DESTROY_QP, domain.describe(), qp);
                throw e;
            }
        } catch (Throwable e) {
            throw Native.unchecked("ibv_create_qp_ex", e);
        } finally {
            domain.end();
        }
    }

    /** Returns the domain. */
    public XrcDomain domain() {
        return domain;
    }

    /** Returns the number, 24 bits, by which the peer knows it. */
    public int number() {
        return number;
    }

    /** Asks the device for the state (ibv_query_qp(3)). */
    public QpState state() {
        int state = 1;
        begin();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attr = ibv_qp_attr.allocate(arena);
            MemorySegment init = ibv_qp_init_attr.allocate(arena);
            int result = (int) Verbs.QUERY_QP.handle().invokeExact(Native.errnoState(), handle, attr, state, init);
            Verbs.check(result, "ibv_query_qp", describe());
            return QueuePairModification.read(attr, state).state();
        } catch (Throwable e) {
            throw Native.unchecked("ibv_query_qp", e);
        } finally {
            end();
        }
    }

    /**
     * Changes attributes, the state among them (ibv_modify_qp(3)).
     *
     * @param modification the values
     * @throws RdmaException if the transition is not allowed or a value is missing or out of range
     */
    public void modify(QueuePairModification modification) {
        begin();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attr = ibv_qp_attr.allocate(arena);
            modification.write(attr);
            Verbs.run(Verbs.MODIFY_QP, describe() + ", " + modification, handle, attr, modification.mask());
        } finally {
            end();
        }
    }

    @Override
    protected void release() {
        reportEventsNoMore();
        try {
            Verbs.destroy(Verbs.DESTROY_QP, this::describe, handle);
        } catch (RdmaException e) {
            reportEventsAs();
            throw e;
        }
    }

    @Override
    public String describe() {
        return "qp " + deviceName() + "/" + number;
    }
}
