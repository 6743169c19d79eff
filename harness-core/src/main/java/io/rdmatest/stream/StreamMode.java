package io.rdmatest.stream;

/** How data gets into the receiver's ring, and how the receiver learns of it. Both sides must use the same. */
public enum StreamMode {
    /** RDMA WRITE with immediate data: one request per piece of data. */
    IMMEDIATE,
    /** RDMA WRITE followed by a SEND of 4 bytes, for devices without immediate data on writes (iWARP). */
    IWARP,
    /**
     * As {@link #IMMEDIATE}, but of what is large every other piece is left in the send ring, and a message asks the peer to get it
     * by RDMA READ: where the processor moves the data, as with soft-RoCE, those of both ends do, each one half. A piece that
     * is to be read has 16 to 64 KiB. It arrives in calls of the receiver only, and {@link StreamEndpoint#shutdown} waits for
     * them. No stream of libfabric's knows this mode.
     */
    SPLIT
}
