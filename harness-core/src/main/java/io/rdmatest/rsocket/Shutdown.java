package io.rdmatest.rsocket;

/** Which direction of a connection ends, shutdown(2). */
public enum Shutdown {
    /** No more receiving here. */
    READ,
    /** No more sending here; the peer reads what is under way, then the end of the stream. */
    WRITE,
    /** Both. */
    BOTH
}
