package io.rdmatest.rsocket;

import io.rdmatest.ffi.rdma_h;

/** Flags of a send or receive, send(2) and recv(2). */
public enum MessageFlag {
    /** Does not wait: a call that would block returns 0 at once. */
    DONTWAIT,
    /** Receives without removing the bytes from the stream. */
    PEEK,
    /** Waits for the whole buffer, or the end of the stream. */
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
     * Returns the native flags. They always have DONTWAIT, because waits have a deadline outside of the call. They
     * never have WAITALL, which contradicts DONTWAIT and is a loop outside of the call.
     */
    static int nativeFlags(MessageFlag[] flags) {
        return rdma_h.MSG_DONTWAIT() | (contains(flags, PEEK) ? rdma_h.MSG_PEEK() : 0);
    }
}
