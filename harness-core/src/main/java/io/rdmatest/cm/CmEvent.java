package io.rdmatest.cm;

import io.rdmatest.Cause;
import io.rdmatest.RejectReason;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.internal.Errno;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * An event of an id (struct rdma_cm_event, rdma_get_cm_event(3)).
 *
 * <p>It is a copy of an acknowledged event and needs no closing.
 */
public final class CmEvent {

    private final int number;
    private final CmId id;
    private final @Nullable CmId listenId;
    private final int status;
    private final byte[] privateData;
    private final @Nullable ConnectionParameters connection;
    private final @Nullable UdParameters ud;

    CmEvent(
            int number,
            CmId id,
            @Nullable CmId listenId,
            int status,
            byte[] privateData,
            @Nullable ConnectionParameters connection,
            @Nullable UdParameters ud) {
        this.number = number;
        this.id = id;
        this.listenId = listenId;
        this.status = status;
        this.privateData = privateData;
        this.connection = connection;
        this.ud = ud;
    }

    /** Returns the type; {@link Type#UNKNOWN} for an event that this release does not know. */
    public Type type() {
        return Type.of(number);
    }

    /** Returns the event's number in librdmacm, also for an unknown event. */
    public int number() {
        return number;
    }

    /** Returns the id; for a CONNECT_REQUEST the new id, which the receiver owns from now on. */
    public CmId id() {
        return id;
    }

    /** Returns the listening id of a CONNECT_REQUEST; null for other events. */
    public @Nullable CmId listenId() {
        return listenId;
    }

    /** Returns 0, a negative errno, or a reason code of the transport; {@link #statusText()} explains it. */
    public int status() {
        return status;
    }

    /** Returns the status by its C name, for example {@code ETIMEDOUT}; empty if it is not an errno. */
    public String errnoName() {
        return status < 0 ? Errno.name(status) : "";
    }

    /**
     * Returns a copy of the peer's private data; may be empty.
     *
     * <p>On InfiniBand and RoCE the copy is as long as the message's whole private data field, padded with zeros.
     */
    public byte[] privateData() {
        return privateData.clone();
    }

    /** Returns the parameters of a connection event of a connected port space; null otherwise. */
    public @Nullable ConnectionParameters connection() {
        return connection;
    }

    /** Returns the datagram parameters of an event of a datagram port space; null otherwise. */
    public @Nullable UdParameters ud() {
        return ud;
    }

    /** Returns an explanation of the status and its usual cure; may be empty. */
    public String statusText() {
        return explain(number, status);
    }

    /** Returns the reject reason; empty unless the event is REJECTED, or UNREACHABLE with an answer of the peer. */
    public Optional<RejectReason> rejectReason() {
        return RejectReason.of(cName(number), status);
    }

    /**
     * Requires this event to be of a type.
     *
     * @param wanted the type
     * @return this event
     * @throws UnexpectedCmEventException if it is of another type
     */
    public CmEvent require(Type wanted) {
        if (number != wanted.number) {
            throw new UnexpectedCmEventException(wanted.cName(), cName(number), status, statusText(), privateData);
        }
        return this;
    }

    static String cName(int number) {
        Type type = Type.of(number);
        return type == Type.UNKNOWN ? "RDMA_CM_EVENT " + number : type.cName();
    }

    private static String explain(int number, int status) {
        if (status == 0) {
            return "";
        }
        Type type = Type.of(number);
        if (type == Type.CONNECT_ERROR && status == -1) {
            // -1 is the result of a call inside librdmacm, not EPERM: the reply arrived when the id was no longer
            // connecting.
            return "librdmacm could not bring the queue pair to RTS: usually the peer accepted and disconnected at"
                    + " once";
        }
        if (status < 0) {
            String text = Errno.name(status) + ", " + Errno.text(status);
            String cure = switch (type) {
                case UNREACHABLE ->
                    "the peer's connection manager did not answer: check that the host is up and that its address is"
                            + " on an RDMA device";
                case ADDR_ERROR, ROUTE_ERROR -> Errno.cure("rdma_resolve_addr", -status);
                case REJECTED ->
                    RejectReason.of(cName(number), status).orElseThrow().text();
                default -> "";
            };
            return cure.isEmpty() ? text : text + ": " + cure;
        }
        return RejectReason.of(cName(number), status)
                .map(reason -> reason == RejectReason.UNKNOWN ? "reason " + status : reason.text())
                .orElseGet(() -> Errno.name(status) + ", " + Errno.text(status));
    }

    @Override
    public String toString() {
        return cName(number) + " on " + id.describe()
                + (status == 0 ? "" : ", status " + status + " (" + statusText() + ")");
    }

    /** The events of librdmacm (rdma_get_cm_event(3)). */
    public enum Type {
        /** The address is resolved to a device. */
        ADDR_RESOLVED(0),
        /** The address can't be resolved. */
        ADDR_ERROR(1),
        /** The route is resolved. */
        ROUTE_RESOLVED(2),
        /** The route can't be resolved. */
        ROUTE_ERROR(3),
        /** A peer requests a connection or a datagram service: the event has a new id. */
        CONNECT_REQUEST(4),
        /** The peer accepted, and the id has no queue pair of its own: call establish next. */
        CONNECT_RESPONSE(5),
        /** Connecting failed. */
        CONNECT_ERROR(6),
        /** The peer does not answer. */
        UNREACHABLE(7),
        /** The peer rejected. */
        REJECTED(8),
        /** The connection is established, or the datagram service is resolved. */
        ESTABLISHED(9),
        /** The connection is over. */
        DISCONNECTED(10),
        /** The device is going away: close everything on it. */
        DEVICE_REMOVAL(11),
        /** The multicast group is joined. */
        MULTICAST_JOIN(12),
        /** The multicast group can't be joined, or was lost. */
        MULTICAST_ERROR(13),
        /** The network device of this id got another hardware address. */
        ADDR_CHANGE(14),
        /** The timewait period is over: the queue pair of a closed connection may be reused. */
        TIMEWAIT_EXIT(15),
        /** An address lookup of rdma_resolve_addrinfo is done (rdma-core 60). */
        ADDRINFO_RESOLVED(16),
        /** An address lookup of rdma_resolve_addrinfo failed (rdma-core 60). */
        ADDRINFO_ERROR(17),
        /** A program wrote this event itself (rdma-core 60). */
        USER(18),
        /** Internal to librdmacm (rdma-core 60). */
        INTERNAL(19),
        /** An event that this release does not know: {@link CmEvent#number()} has its number. */
        UNKNOWN(-1);

        private static final Type[] VALUES = values();

        private final int number;

        Type(int number) {
            this.number = number;
        }

        /** Returns the number in librdmacm; −1 for {@link #UNKNOWN}. */
        public int number() {
            return number;
        }

        /** Returns the cause of a timeout while waiting for this event. */
        Cause silence() {
            return switch (this) {
                case ADDR_RESOLVED, CONNECT_REQUEST, CONNECT_RESPONSE, ESTABLISHED -> Cause.PEER_ABSENT;
                case ROUTE_RESOLVED -> Cause.NO_ROUTE;
                default -> Cause.TIMEOUT;
            };
        }

        /** Returns the C name, for example {@code RDMA_CM_EVENT_ESTABLISHED}. */
        public String cName() {
            return "RDMA_CM_EVENT_" + name();
        }

        /**
         * Returns the type of a number.
         *
         * @param number an event number of librdmacm
         * @return the type, or {@link #UNKNOWN}
         */
        public static Type of(int number) {
            return number >= 0 && number < VALUES.length - 1 ? VALUES[number] : UNKNOWN;
        }
    }
}
