package io.rdmatest.verbs;

/**
 * An asynchronous event of a device (ibv_get_async_event(3)). It is acknowledged before the caller gets it.
 *
 * @param type what happened
 * @param typeCode the type as a number, also where {@code type} is unknown
 * @param affected the affected object as its {@code describe()} names it, or {@code "port N"}, or the device's name
 * @param port the port of a port event; 0 for other events
 */
public record AsyncEvent(Type type, int typeCode, String affected, int port) {

    /** The types of events (enum ibv_event_type; IBTA volume 1, section 11.6.3). */
    public enum Type {
        /** A completion queue overran or failed. */
        CQ_ERR,
        /** A queue pair failed. */
        QP_FATAL,
        /** A request was invalid; the responder's queue pair is in error. */
        QP_REQ_ERR,
        /** A request had no permission; the responder's queue pair is in error. */
        QP_ACCESS_ERR,
        /** The first message came in before the connection was established. */
        COMM_EST,
        /** A send queue is drained. */
        SQ_DRAINED,
        /** A connection moved to its alternate path. */
        PATH_MIG,
        /** A connection could not move to its alternate path. */
        PATH_MIG_ERR,
        /** The device failed. */
        DEVICE_FATAL,
        /** A port became active. */
        PORT_ACTIVE,
        /** A port is no longer active. */
        PORT_ERR,
        /** A port's LID changed. */
        LID_CHANGE,
        /** A port's partition table changed. */
        PKEY_CHANGE,
        /** A port has another subnet manager. */
        SM_CHANGE,
        /** A shared receive queue failed. */
        SRQ_ERR,
        /** A shared receive queue fell below its limit. */
        SRQ_LIMIT_REACHED,
        /** A queue pair on a shared receive queue took its last receive. */
        QP_LAST_WQE_REACHED,
        /** The subnet manager asks clients to register again. */
        CLIENT_REREGISTER,
        /** A port's GID table changed. */
        GID_CHANGE,
        /** A work queue failed. */
        WQ_FATAL,
        /** The speed of one or more ports of the device changed. */
        DEVICE_SPEED_CHANGE,
        /** A value that this library does not know. */
        UNKNOWN;

        static Type of(int code) {
            return code >= 0 && code < UNKNOWN.ordinal() ? values()[code] : UNKNOWN;
        }

        boolean ofCompletionQueue() {
            return this == CQ_ERR;
        }

        boolean ofSharedReceiveQueue() {
            return this == SRQ_ERR || this == SRQ_LIMIT_REACHED;
        }

        boolean ofQueuePair() {
            return switch (this) {
                case QP_FATAL,
                        QP_REQ_ERR,
                        QP_ACCESS_ERR,
                        COMM_EST,
                        SQ_DRAINED,
                        PATH_MIG,
                        PATH_MIG_ERR,
                        QP_LAST_WQE_REACHED -> true;
                default -> false;
            };
        }

        boolean ofPort() {
            return switch (this) {
                case PORT_ACTIVE, PORT_ERR, LID_CHANGE, PKEY_CHANGE, SM_CHANGE, CLIENT_REREGISTER, GID_CHANGE -> true;
                default -> false;
            };
        }
    }
}
