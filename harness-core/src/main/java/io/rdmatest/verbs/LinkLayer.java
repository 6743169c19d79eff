package io.rdmatest.verbs;

/** What carries the packets of a port (IBV_LINK_LAYER_*). */
public enum LinkLayer {
    /** Not reported, as by older InfiniBand drivers. */
    UNSPECIFIED,
    /** InfiniBand. */
    INFINIBAND,
    /** Ethernet: RoCE or iWARP. */
    ETHERNET,
    /** A value that this library does not know. */
    UNKNOWN;

    static LinkLayer of(int code) {
        return code >= 0 && code < UNKNOWN.ordinal() ? values()[code] : UNKNOWN;
    }
}
