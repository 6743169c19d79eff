package io.rdmatest.verbs;

/** What an entry of the GID table stands for (enum ibv_gid_type). */
public enum GidType {
    /** An InfiniBand GID. */
    IB("IB"),
    /** RoCE version 1: Ethernet type 0x8915, not routable. */
    ROCE_V1("RoCE v1"),
    /** RoCE version 2: UDP port 4791 over IPv4 or IPv6. */
    ROCE_V2("RoCE v2"),
    /** A value that this library does not know. */
    UNKNOWN("unknown");

    private final String text;

    GidType(String text) {
        this.text = text;
    }

    static GidType of(int code) {
        return code >= 0 && code < UNKNOWN.ordinal() ? values()[code] : UNKNOWN;
    }

    @Override
    public String toString() {
        return text;
    }
}
