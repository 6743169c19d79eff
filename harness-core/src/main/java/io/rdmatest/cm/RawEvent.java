package io.rdmatest.cm;

import io.rdmatest.ffi.ibv_ah_attr;
import io.rdmatest.ffi.rdma_cm_event;
import io.rdmatest.ffi.rdma_cm_id;
import io.rdmatest.ffi.rdma_conn_param;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.ffi.rdma_ud_param;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Map;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * The copy of an event that was not taken yet.
 *
 * <p>The new id of a connection request has no object yet. Until the request is taken the channel owns the id. The id
 * is not a child of the channel, so it never prevents closing.
 *
 * @param number the event's number
 * @param status the event's status
 * @param id the address of the id
 * @param listenId the address of the listening id of a connection request; else 0
 * @param token the token of a join; else 0
 */
record RawEvent(
        int number,
        int status,
        long id,
        long listenId,
        long token,
        byte[] privateData,
        @Nullable ConnectionParameters connection,
        @Nullable UdParameters ud) {

    private static final byte[] NOTHING = {};

    /**
     * Copies an event that is not acknowledged yet.
     *
     * @param errno the errno after the call that read it
     */
    static RawEvent copy(MemorySegment event, int errno) {
        int number = rdma_cm_event.event(event);
        CmEvent.Type type = CmEvent.Type.of(number);
        MemorySegment id = rdma_cm_event.id(event).reinterpret(rdma_cm_id.sizeof());
        boolean datagram = rdma_cm_id.qp_type(id) == rdma_h.IBV_QPT_UD();
        MemorySegment parameters = rdma_cm_event.param(event);
        MemorySegment ud = rdma_cm_event.param.ud(parameters);
        MemorySegment conn = rdma_cm_event.param.conn(parameters);
        byte[] privateData = NOTHING;
        ConnectionParameters connection = null;
        UdParameters udParameters = null;
        long token = 0;
        switch (type) {
            case ADDR_RESOLVED, ADDR_ERROR, ROUTE_RESOLVED, ROUTE_ERROR -> {}
            case MULTICAST_JOIN, MULTICAST_ERROR -> {
                // For a multicast event librdmacm returns the caller's context in the pointer to private data.
                token = rdma_ud_param.private_data(ud).address();
                udParameters = type == CmEvent.Type.MULTICAST_JOIN ? udParameters(ud) : null;
            }
            default -> {
                if (datagram) {
                    privateData = data(rdma_ud_param.private_data(ud), rdma_ud_param.private_data_len(ud));
                    udParameters = udParameters(ud);
                } else {
                    privateData = data(rdma_conn_param.private_data(conn), rdma_conn_param.private_data_len(conn));
                    connection = connection(conn, privateData);
                }
            }
        }
        return new RawEvent(
                number,
                status(type, rdma_cm_event.status(event), errno),
                id.address(),
                type == CmEvent.Type.CONNECT_REQUEST
                        ? rdma_cm_event.listen_id(event).address()
                        : 0,
                token,
                privateData,
                connection,
                udParameters);
    }

    /**
     * Returns the status of an event. librdmacm makes a call of its own while it reads these events. If that fails the
     * status is -1, and errno has the reason. The kernel's own status is a negative errno.
     */
    private static int status(CmEvent.Type type, int status, int errno) {
        return switch (type) {
            case ADDR_ERROR, ROUTE_ERROR, MULTICAST_ERROR ->
                status == -1 && errno > 0 && errno != rdma_h.EAGAIN() ? -errno : status;
            default -> status;
        };
    }

    private static byte[] data(MemorySegment address, byte length) {
        int size = Byte.toUnsignedInt(length);
        return address.address() == 0 || size == 0
                ? NOTHING
                : address.reinterpret(size).toArray(ValueLayout.JAVA_BYTE);
    }

    private static ConnectionParameters connection(MemorySegment conn, byte[] privateData) {
        return ConnectionParameters.builder()
                .privateData(privateData)
                .responderResources(Byte.toUnsignedInt(rdma_conn_param.responder_resources(conn)))
                .initiatorDepth(Byte.toUnsignedInt(rdma_conn_param.initiator_depth(conn)))
                .flowControl(rdma_conn_param.flow_control(conn) != 0)
                .retryCount(rdma_conn_param.retry_count(conn) & 7)
                .rnrRetryCount(rdma_conn_param.rnr_retry_count(conn) & 7)
                .srq(rdma_conn_param.srq(conn) != 0)
                .qpNumber(rdma_conn_param.qp_num(conn) & 0xFFFFFF)
                .build();
    }

    private static UdParameters udParameters(MemorySegment ud) {
        MemorySegment address = rdma_ud_param.ah_attr(ud);
        return new UdParameters(
                rdma_ud_param.qp_num(ud),
                rdma_ud_param.qkey(ud),
                ibv_ah_attr.port_num(address) == 0 ? null : Rdmacm.VERBS.addressHandleAttributes(address));
    }

    /** Returns the address of the event's id; for a connection request, the address of the listening id. */
    long recipient() {
        return listenId == 0 ? id : listenId;
    }

    CmEvent handOut(Map<Long, CmId> ids, BiFunction<MemorySegment, PortSpace, CmId> adopt) {
        CmId recipient = ids.get(recipient());
        if (recipient == null) {
            throw new IllegalStateException(CmEvent.cName(number) + " of a destroyed id");
        }
        if (listenId == 0) {
            return new CmEvent(number, recipient, null, status, privateData, connection, ud);
        }
        CmId made = adopt.apply(MemorySegment.ofAddress(id), recipient.portSpace());
        return new CmEvent(number, made, recipient, status, privateData, connection, ud);
    }
}
