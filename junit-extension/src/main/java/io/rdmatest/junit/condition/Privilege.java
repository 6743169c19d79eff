package io.rdmatest.junit.condition;

/** What a process may have to be allowed (capabilities(7)). */
public enum Privilege {

    /** The effective user is root. */
    ROOT(-1),

    /** Make and change network interfaces and RDMA devices. */
    CAP_NET_ADMIN(12),

    /** Open raw sockets, packet sockets and raw queue pairs. */
    CAP_NET_RAW(13),

    /** Lock memory without limit. */
    CAP_IPC_LOCK(14),

    /** Mount, name hosts, and much else. */
    CAP_SYS_ADMIN(21),

    /** Go beyond resource limits. */
    CAP_SYS_RESOURCE(24);

    private final int bit;

    Privilege(int bit) {
        this.bit = bit;
    }

    int bit() {
        return bit;
    }
}
