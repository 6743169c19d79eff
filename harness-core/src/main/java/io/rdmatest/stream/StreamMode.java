package io.rdmatest.stream;

/** How data and its notification reach the receiver. Both sides must use the same mode. */
public enum StreamMode {
    /** RDMA WRITE with immediate data: one request per piece of data. */
    IMMEDIATE,
    /** RDMA WRITE followed by a SEND of 4 bytes, for devices without immediate data on writes (iWARP). */
    IWARP,
    /**
     * Like {@link #IMMEDIATE}, but the receiver fetches every other piece of large data by RDMA READ. With soft-RoCE,
     * where the processors move the data, both ends then share the work. Such a piece has 16 to 64 KiB. It arrives only
     * in calls of the receiver, and {@link StreamEndpoint#shutdown} waits for them. libfabric does not have this mode.
     */
    SPLIT
}
