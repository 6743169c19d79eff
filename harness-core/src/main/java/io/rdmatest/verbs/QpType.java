package io.rdmatest.verbs;

/** The service of a queue pair (enum ibv_qp_type; IBTA volume 1, section 3.2.2). */
public enum QpType {
    /** Reliable connection. */
    RC(2),
    /** Unreliable connection. */
    UC(3),
    /** Unreliable datagram. */
    UD(4);

    private final int code;

    QpType(int code) {
        this.code = code;
    }

    int code() {
        return code;
    }
}
