package io.rdmatest.rsocket;

/** The direction of a connection to end, shutdown(2). */
public enum Shutdown {
    /** No more receiving here. */
    READ,
    /** No more sending here; the peer receives the data in flight, then the end of the stream. */
    WRITE,
    /** Both. */
    BOTH
}
