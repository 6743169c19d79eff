package io.rdmatest;

/** How two queue pairs of the type RC become a connection. The three fail differently on real fabrics. */
public enum ConnectionMode {
    /** rdma_cm creates the queue pair and moves it through its states (rdma_create_qp(3)). */
    RDMA_CM,
    /** rdma_cm connects and accepts; the program owns the queue pair and modifies it itself, as {@code rping -q} does. */
    EXTERNAL_QP,
    /** No rdma_cm: both sides exchange GID, queue pair number and packet sequence number out of band. */
    RAW
}
