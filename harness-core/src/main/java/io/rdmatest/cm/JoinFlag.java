package io.rdmatest.cm;

/** How a multicast group is joined (rdma_join_multicast_ex(3)). */
public enum JoinFlag {
    /** Sends and receives: the id's queue pair is attached to the group. */
    FULL_MEMBER(0),
    /** Only sends; on RoCE v2 without an IGMP report. Needs the subnet manager's support on InfiniBand. */
    SEND_ONLY_FULL_MEMBER(1);

    private final int value;

    JoinFlag(int value) {
        this.value = value;
    }

    int value() {
        return value;
    }
}
