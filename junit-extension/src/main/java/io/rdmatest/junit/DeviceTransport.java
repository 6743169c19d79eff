package io.rdmatest.junit;

/** The wire protocol of a port: the device's transport and the port's link layer taken together. */
public enum DeviceTransport {

    /** InfiniBand transport on an InfiniBand link. */
    INFINIBAND,

    /** InfiniBand transport on Ethernet, in hardware or software. */
    ROCE,

    /** RDMA over TCP. */
    IWARP,

    /** Any other: usNIC, or a transport newer than this list. */
    OTHER
}
