package io.rdmatest.scenarios.engine;

/** How a reliable connection is established. The three ways fail differently on real fabrics. */
public enum BringUp {
    /** rdma_cm creates the queue pair and moves it through its states (rdma_create_qp(3)). */
    RDMA_CM,
    /** The program owns the queue pair and modifies it with attributes from rdma_cm, as {@code rping -q} does. */
    EXTERNAL_QP,
    /** No rdma_cm: queue pair number, packet sequence number and GID are exchanged out of band. */
    RAW
}
