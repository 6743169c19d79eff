package io.rdmatest.junit;

/** The ways in which a pair of queue pairs becomes a connection. They fail differently on real fabrics. */
public enum ConnectionMode {

    /** rdma_cm creates the queue pairs and drives their states. */
    RDMA_CM,

    /** rdma_cm resolves, connects and accepts; the queue pairs are the test's own, as with {@code rping -q}. */
    RDMA_CM_EXTERNAL_QP,

    /** Both sides exchange GID, queue pair number and PSN out of band; no rdma_cm at all. */
    RAW_GID
}
