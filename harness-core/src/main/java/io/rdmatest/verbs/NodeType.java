package io.rdmatest.verbs;

/** What kind of node a device makes of its host (enum ibv_node_type). */
public enum NodeType {
    /** Not known to the library. */
    UNKNOWN(-1),
    /** A channel adapter. */
    CA(1),
    /** A switch. */
    SWITCH(2),
    /** A router. */
    ROUTER(3),
    /** An iWARP adapter. */
    RNIC(4),
    /** Cisco usNIC. */
    USNIC(5),
    /** Cisco usNIC over UDP. */
    USNIC_UDP(6),
    /** A device that says nothing about itself. */
    UNSPECIFIED(7);

    private final int code;

    NodeType(int code) {
        this.code = code;
    }

    int code() {
        return code;
    }

    static NodeType of(int code) {
        for (NodeType type : values()) {
            if (type.code == code) {
                return type;
            }
        }
        return UNKNOWN;
    }
}
