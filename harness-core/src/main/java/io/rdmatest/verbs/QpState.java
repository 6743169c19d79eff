package io.rdmatest.verbs;

/** The state of a queue pair (enum ibv_qp_state; IBTA volume 1, section 10.3.1). */
public enum QpState {
    /** Newly created or reset. */
    RESET,
    /** Receives may be posted. */
    INIT,
    /** Ready to receive. */
    RTR,
    /** Ready to send. */
    RTS,
    /** The send queue is drained. */
    SQD,
    /** The send queue is in error; datagram and unreliable services only. */
    SQE,
    /** In error: all work is flushed. */
    ERR,
    /** A value that this library does not know. */
    UNKNOWN;

    int code() {
        return ordinal();
    }

    static QpState of(int code) {
        return code >= 0 && code < UNKNOWN.ordinal() ? values()[code] : UNKNOWN;
    }
}
