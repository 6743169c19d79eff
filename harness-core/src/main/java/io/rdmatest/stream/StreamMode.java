package io.rdmatest.stream;

/** How the receiver learns of data that was written into its ring. Both sides must use the same. */
public enum StreamMode {
    /** RDMA WRITE with immediate data: one request per piece of data. */
    IMMEDIATE,
    /** RDMA WRITE followed by a SEND of 4 bytes, for devices without immediate data on writes (iWARP). */
    IWARP
}
