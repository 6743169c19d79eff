package io.rdmatest.verbs;

import io.rdmatest.ffi.ibv_ah_attr;
import io.rdmatest.ffi.ibv_global_route;
import io.rdmatest.ffi.ibv_qp_cap;
import io.rdmatest.ffi.ibv_qp_init_attr;
import io.rdmatest.ffi.ibv_qp_init_attr_ex;
import io.rdmatest.ffi.rdma_h;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jspecify.annotations.Nullable;

/** Moves values between records and C structs. */
final class Structs {

    /** IBV_QPT_XRC_SEND. */
    private static final int XRC_SEND = 9;

    private Structs() {}

    static Gid gid(MemorySegment gid) {
        return Gid.of(gid.asSlice(0, Gid.LENGTH).toArray(ValueLayout.JAVA_BYTE));
    }

    static void gid(MemorySegment target, Gid gid) {
        MemorySegment.copy(gid.bytes(), 0, target, ValueLayout.JAVA_BYTE, 0, Gid.LENGTH);
    }

    static void addressHandle(MemorySegment attr, AddressHandleAttributes value) {
        attr.asSlice(0, ibv_ah_attr.sizeof()).fill((byte) 0);
        Gid gid = value.gid();
        if (gid != null) {
            MemorySegment grh = ibv_ah_attr.grh(attr);
            gid(ibv_global_route.dgid(grh), gid);
            ibv_global_route.flow_label(grh, value.flowLabel());
            ibv_global_route.sgid_index(grh, (byte) value.gidIndex());
            ibv_global_route.hop_limit(grh, (byte) value.hopLimit());
            ibv_global_route.traffic_class(grh, (byte) value.trafficClass());
            ibv_ah_attr.is_global(attr, (byte) 1);
        }
        ibv_ah_attr.dlid(attr, (short) value.lid());
        ibv_ah_attr.sl(attr, (byte) value.serviceLevel());
        ibv_ah_attr.src_path_bits(attr, (byte) value.pathBits());
        ibv_ah_attr.static_rate(attr, (byte) value.staticRate());
        ibv_ah_attr.port_num(attr, (byte) value.port());
    }

    static AddressHandleAttributes addressHandle(MemorySegment attr) {
        MemorySegment grh = ibv_ah_attr.grh(attr);
        @Nullable Gid gid = ibv_ah_attr.is_global(attr) == 0 ? null : gid(ibv_global_route.dgid(grh));
        return new AddressHandleAttributes(
                ibv_ah_attr.port_num(attr) & 0xff,
                gid,
                ibv_global_route.sgid_index(grh) & 0xff,
                ibv_ah_attr.dlid(attr) & 0xffff,
                ibv_ah_attr.sl(attr) & 0xff,
                ibv_ah_attr.src_path_bits(attr) & 0xff,
                ibv_ah_attr.static_rate(attr) & 0xff,
                ibv_global_route.flow_label(grh) & 0xfffff,
                ibv_global_route.hop_limit(grh) & 0xff,
                ibv_global_route.traffic_class(grh) & 0xff);
    }

    static void queuePair(MemorySegment init, QueuePairAttributes value) {
        ibv_qp_init_attr.send_cq(init, value.sendQueue().handle);
        ibv_qp_init_attr.recv_cq(init, value.receiveQueue().handle);
        SharedReceiveQueue srq = value.srq();
        ibv_qp_init_attr.srq(init, srq == null ? MemorySegment.NULL : srq.handle);
        MemorySegment cap = ibv_qp_init_attr.cap(init);
        ibv_qp_cap.max_send_wr(cap, value.maxSendWr());
        ibv_qp_cap.max_recv_wr(cap, value.maxReceiveWr());
        ibv_qp_cap.max_send_sge(cap, value.maxSendSge());
        ibv_qp_cap.max_recv_sge(cap, value.maxReceiveSge());
        ibv_qp_cap.max_inline_data(cap, value.maxInline());
        ibv_qp_init_attr.qp_type(
                init, value.xrcInitiator() ? XRC_SEND : value.type().code());
        ibv_qp_init_attr.sq_sig_all(init, value.signalAll() ? 1 : 0);
    }

    /**
     * Fills the extended attributes. They begin with the fields of the plain ones. The tests of the bindings compare this layout
     * with the C compiler's.
     */
    static void queuePairEx(MemorySegment init, MemorySegment protectionDomain, QueuePairAttributes value) {
        queuePair(init, value);
        int mask = rdma_h.IBV_QP_INIT_ATTR_PD();
        ibv_qp_init_attr_ex.pd(init, protectionDomain);
        if (value.blockSelfMulticastLoopback()) {
            mask |= rdma_h.IBV_QP_INIT_ATTR_CREATE_FLAGS();
            ibv_qp_init_attr_ex.create_flags(init, rdma_h.IBV_QP_CREATE_BLOCK_SELF_MCAST_LB());
        }
        ibv_qp_init_attr_ex.comp_mask(init, mask);
    }
}
