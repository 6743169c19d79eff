package io.rdmatest.cm;

/** The name space of port numbers, which also decides the type of queue pair (rdma_create_id(3)). */
public enum PortSpace {
    /** Reliable connections (RC). */
    TCP(0x0106),
    /** Unreliable datagrams (UD), found by service id resolution (SIDR), and multicast. */
    UDP(0x0111),
    /** Any queue pair type over native InfiniBand service ids. */
    IB(0x013F),
    /** Unreliable datagrams in the multicast groups of IP over InfiniBand. */
    IPOIB(0x0002);

    private final int value;

    PortSpace(int value) {
        this.value = value;
    }

    /** Returns the number that librdmacm uses, for example 0x0106. */
    public int value() {
        return value;
    }

    /** Returns whether ids of this port space use unreliable datagrams. */
    public boolean isDatagram() {
        return this == UDP || this == IPOIB;
    }

    /**
     * Returns the longest private data of a connection request in bytes (rdma_connect(3)).
     *
     * @param nativeAddress whether the id uses a native InfiniBand address: the kernel then adds no header
     */
    int requestLimit(boolean nativeAddress) {
        int limit = isDatagram() ? 180 : 56;
        return nativeAddress ? limit + KERNEL_HEADER : limit;
    }

    /** Returns the longest private data of an acceptance in bytes (rdma_accept(3)). */
    int replyLimit() {
        return isDatagram() ? 136 : 196;
    }

    /** Returns the longest private data of a rejection in bytes (IBTA volume 1, section 12.6.7: REJ). */
    int rejectLimit() {
        return isDatagram() ? 136 : 148;
    }

    /**
     * The size of the kernel's header before the private data of a request between IP addresses (IBTA annex A11), in
     * bytes.
     */
    private static final int KERNEL_HEADER = 36;
}
