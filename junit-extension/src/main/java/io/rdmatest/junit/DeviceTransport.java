package io.rdmatest.junit;

/** The wire protocol of a port: the device's transport, the port's link layer and the GID's type taken together. */
public enum DeviceTransport {

    /** InfiniBand transport on an InfiniBand link. */
    INFINIBAND("InfiniBand"),

    /** InfiniBand transport on Ethernet, in hardware or software, of either version. */
    ROCE("RoCE"),

    /** RoCE version 1: Ethernet frames, not routable. */
    ROCE_V1("RoCE v1"),

    /** RoCE version 2: UDP. */
    ROCE_V2("RoCE v2"),

    /** RDMA over TCP. */
    IWARP("iWARP"),

    /** Any other: usNIC, or a transport newer than this list. */
    OTHER("another");

    private final String text;

    DeviceTransport(String text) {
        this.text = text;
    }

    /**
     * Tells whether another protocol satisfies a demand for this one: {@link #ROCE} is satisfied by either version.
     *
     * @param other the protocol that a device speaks
     * @return true if it is this one, or a version of it
     */
    public boolean includes(DeviceTransport other) {
        return this == other || this == ROCE && (other == ROCE_V1 || other == ROCE_V2);
    }

    /** Returns the protocol's name as people write it, for example {@code RoCE v2}. */
    @Override
    public String toString() {
        return text;
    }
}
