package io.rdmatest;

import java.util.Optional;

/**
 * Why a connection or a datagram service was rejected. One list for all transports: the reject reasons of the
 * InfiniBand connection manager (IBTA volume 1, section 12.6.7.2), the status of service id resolution (section
 * 12.11.2) and the errno that iWARP reports.
 *
 * <p>It distinguishes a missing listener ({@link #nobodyListens()}) from a program that rejected ({@link
 * #byPeerProgram()}).
 */
public enum RejectReason {
    /** The peer has no queue pair left. */
    NO_QUEUE_PAIR(1, "no queue pair available at the peer"),
    /** The peer has no end-to-end context left. */
    NO_END_TO_END_CONTEXT(2, "no end-to-end context available at the peer"),
    /** The peer has no resources left. */
    NO_RESOURCES(3, "no resources available at the peer"),
    /** A message of the handshake did not arrive in time. */
    TIMEOUT(4, "timeout at the peer"),
    /** The peer does not know this kind of request. */
    UNSUPPORTED_REQUEST(5, "unsupported request"),
    /** The peer does not know the communication id. */
    INVALID_COMMUNICATION_ID(6, "invalid communication id"),
    /** The local and the remote communication id do not match. */
    INVALID_COMMUNICATION_INSTANCE(7, "invalid communication instance"),
    /** No listener has this service id. */
    INVALID_SERVICE_ID(8, "invalid service id: no listener on this port at the peer"),
    /** The listener has another transport service type. */
    INVALID_TRANSPORT_TYPE(9, "invalid transport service type: the peer listens in another port space"),
    /** The peer still knows an old connection of this queue pair. */
    STALE_CONNECTION(10, "stale connection: the peer still knows an old connection of this queue pair"),
    /** The reliable datagram channel does not exist. */
    NO_DATAGRAM_CHANNEL(11, "the reliable datagram channel does not exist"),
    /** The primary path's GID is not the peer's. */
    INVALID_GID(12, "invalid GID of the primary path: check the GID index and the routes"),
    /** The primary path's LID is not the peer's. */
    INVALID_LID(13, "invalid LID of the primary path: check the routes"),
    /** The service level is invalid. */
    INVALID_SERVICE_LEVEL(14, "invalid service level of the primary path"),
    /** The traffic class is invalid. */
    INVALID_TRAFFIC_CLASS(15, "invalid traffic class of the primary path"),
    /** The hop limit is invalid. */
    INVALID_HOP_LIMIT(16, "invalid hop limit of the primary path"),
    /** The packet rate is invalid. */
    INVALID_PACKET_RATE(17, "invalid packet rate of the primary path"),
    /** The alternate path's GID is not the peer's. */
    INVALID_ALTERNATE_GID(18, "invalid GID of the alternate path"),
    /** The alternate path's LID is not the peer's. */
    INVALID_ALTERNATE_LID(19, "invalid LID of the alternate path"),
    /** The alternate path's service level is invalid. */
    INVALID_ALTERNATE_SERVICE_LEVEL(20, "invalid service level of the alternate path"),
    /** The alternate path's traffic class is invalid. */
    INVALID_ALTERNATE_TRAFFIC_CLASS(21, "invalid traffic class of the alternate path"),
    /** The alternate path's hop limit is invalid. */
    INVALID_ALTERNATE_HOP_LIMIT(22, "invalid hop limit of the alternate path"),
    /** The alternate path's packet rate is invalid. */
    INVALID_ALTERNATE_PACKET_RATE(23, "invalid packet rate of the alternate path"),
    /** The connection manager is at another port. */
    MANAGER_REDIRECT(24, "the connection manager is at another port"),
    /** The service is at another port. */
    PORT_REDIRECT(25, "the service is at another port"),
    /** The path's MTU exceeds the peer's. */
    INVALID_MTU(26, "invalid path MTU"),
    /** The peer's responder resources do not suffice. */
    INSUFFICIENT_RESPONDER_RESOURCES(27, "too few responder resources at the peer"),
    /** The peer's program rejected; private data may say why. */
    CONSUMER_DEFINED(28, "rejected by the peer's program"),
    /** The RNR retry count is invalid. */
    INVALID_RNR_RETRY(29, "invalid RNR retry count"),
    /** The peer already knows a connection of this id. */
    DUPLICATE_COMMUNICATION_ID(30, "duplicate communication id"),
    /** The peer's connection manager speaks another version. */
    INVALID_CLASS_VERSION(31, "the peer's connection manager does not support this version"),
    /** The flow label is invalid. */
    INVALID_FLOW_LABEL(32, "invalid flow label of the primary path"),
    /** The alternate path's flow label is invalid. */
    INVALID_ALTERNATE_FLOW_LABEL(33, "invalid flow label of the alternate path"),
    /** The peer does not support a vendor option. */
    UNSUPPORTED_VENDOR_OPTION(35, "vendor option not supported"),
    /**
     * iWARP, ECONNREFUSED: nobody listens on the TCP port. Some drivers report a rejection by the peer's program in the
     * same way; only then the event has private data.
     */
    CONNECTION_REFUSED(111, "connection refused: no listener on this port at the peer"),
    /** iWARP, ECONNRESET: the peer's program rejected. */
    CONNECTION_RESET(104, "connection reset: rejected by the peer's program"),
    /** A reason that this release does not know; the event's status has its number. */
    UNKNOWN(0, "");

    private final int number;
    private final String text;

    RejectReason(int number, String text) {
        this.number = number;
        this.text = text;
    }

    /** Returns InfiniBand's number of the reason, or iWARP's errno without its sign; 0 for {@link #UNKNOWN}. */
    public int number() {
        return number;
    }

    /** Returns the reason as a clause without a full stop; empty for {@link #UNKNOWN}. */
    public String text() {
        return text;
    }

    /** Returns whether nobody listens at the address: no listener, or one in another port space. */
    public boolean nobodyListens() {
        return this == INVALID_SERVICE_ID || this == INVALID_TRANSPORT_TYPE || this == CONNECTION_REFUSED;
    }

    /** Returns whether a program at the peer listens and decided to reject. */
    public boolean byPeerProgram() {
        return this == CONSUMER_DEFINED || this == CONNECTION_RESET;
    }

    /**
     * Reads the reason from an event of the connection manager.
     *
     * @param event the event's C name, for example {@code RDMA_CM_EVENT_REJECTED}
     * @param status the event's status
     * @return the reason; empty if the event is neither REJECTED nor UNREACHABLE with a status of service id resolution
     */
    public static Optional<RejectReason> of(String event, int status) {
        if (event.equals("RDMA_CM_EVENT_REJECTED")) {
            return Optional.of(ofNumber(Math.abs(status)));
        }
        if (event.equals("RDMA_CM_EVENT_UNREACHABLE") && status > 0) {
            return Optional.of(ofServiceIdResolution(status));
        }
        return Optional.empty();
    }

    private static RejectReason ofNumber(int number) {
        for (RejectReason reason : values()) {
            if (reason.number == number) {
                return reason;
            }
        }
        return UNKNOWN;
    }

    private static RejectReason ofServiceIdResolution(int status) {
        return switch (status) {
            case 1 -> INVALID_SERVICE_ID;
            case 2 -> CONSUMER_DEFINED;
            case 3 -> NO_QUEUE_PAIR;
            case 4 -> PORT_REDIRECT;
            case 5 -> INVALID_CLASS_VERSION;
            default -> UNKNOWN;
        };
    }
}
