package io.rdmatest.rsocket;

import io.rdmatest.ffi.rdma_h;

/** Flags of a send or receive, send(2) and recv(2). */
public enum MessageFlag {
    /** Does not wait: a call that would have to wait returns 0 at once. */
    DONTWAIT,
    /** Receives without taking the bytes out of the stream. */
    PEEK,
    /** Waits for the whole buffer; only the end of the stream makes it shorter. */
    WAITALL;

    /** Combines flags without allocating. */
    static boolean contains(MessageFlag[] flags, MessageFlag wanted) {
        for (MessageFlag flag : flags) {
            if (flag == wanted) {
                return true;
            }
        }
        return false;
    }

    /**
     * Computes the native flags. Always DONTWAIT: the waiting is done with a deadline, outside of the call. Never WAITALL:
     * it contradicts DONTWAIT, and is a loop outside of the call as well.
     */
    static int nativeFlags(MessageFlag[] flags) {
        return rdma_h.MSG_DONTWAIT() | (contains(flags, PEEK) ? rdma_h.MSG_PEEK() : 0);
    }
}
