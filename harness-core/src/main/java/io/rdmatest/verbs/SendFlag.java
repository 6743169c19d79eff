package io.rdmatest.verbs;

/** How a send request is carried out (enum ibv_send_flags; ibv_post_send(3)). */
public enum SendFlag {
    /** Waits until earlier reads and atomics are done. RC only. */
    FENCE(1),
    /** Completes with a work completion also on success. */
    SIGNALED(1 << 1),
    /** Sets the solicited event bit, which wakes a peer that waits for solicited completions only. */
    SOLICITED(1 << 2),
    /** Copies the data when the request is posted, so the memory may be reused at once. Not for reads and atomics. */
    INLINE(1 << 3);

    private final int bit;

    SendFlag(int bit) {
        this.bit = bit;
    }

    int bit() {
        return bit;
    }

    static int mask(SendFlag... flags) {
        // Without a loop the compiler sees that a call with one flag does not need its array.
        if (flags.length == 1) {
            return flags[0].bit;
        }
        int mask = 0;
        for (SendFlag flag : flags) {
            mask |= flag.bit;
        }
        return mask;
    }
}
