package io.rdmatest.verbs;

/** The logical state of a port (enum ibv_port_state; IBTA volume 1, section 14.2.5.6). */
public enum PortState {
    /** No state change. */
    NOP,
    /** The link is down. */
    DOWN,
    /** The link is up and not yet configured. */
    INIT,
    /** Configured, not yet active. */
    ARMED,
    /** Data can flow. */
    ACTIVE,
    /** Active, with the link in error. */
    ACTIVE_DEFER,
    /** A value that this library does not know. */
    UNKNOWN;

    static PortState of(int code) {
        return code >= 0 && code < UNKNOWN.ordinal() ? values()[code] : UNKNOWN;
    }
}
