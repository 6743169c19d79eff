package io.rdmatest.verbs;

/** The transport that a device speaks (enum ibv_transport_type). RoCE counts as {@link #IB}. */
public enum Transport {
    /** Not known to the library. */
    UNKNOWN(-1),
    /** The InfiniBand transport: InfiniBand and RoCE. */
    IB(0),
    /** iWARP. */
    IWARP(1),
    /** Cisco usNIC. */
    USNIC(2),
    /** Cisco usNIC over UDP. */
    USNIC_UDP(3),
    /** A device that says nothing about itself. */
    UNSPECIFIED(4);

    private final int code;

    Transport(int code) {
        this.code = code;
    }

    int code() {
        return code;
    }

    static Transport of(int code) {
        for (Transport transport : values()) {
            if (transport.code == code) {
                return transport;
            }
        }
        return UNKNOWN;
    }
}
