package io.rdmatest.verbs;

/** How a send request is carried out (enum ibv_send_flags; ibv_post_send(3)). */
public enum SendFlag {
    /** Waits until earlier reads and atomics are done. RC only. */
    FENCE(1),
    /** Completes with a work completion also on success. */
    SIGNALED(1 << 1),
    /** Sets the solicited event bit: wakes a peer that waits for solicited completions only. */
    SOLICITED(1 << 2),
    /** Copies the data when it is posted; the memory may be used again at once. Not for reads and atomics. */
    INLINE(1 << 3);

    private final int bit;

    SendFlag(int bit) {
        this.bit = bit;
    }

    int bit() {
        return bit;
    }

    static int mask(SendFlag... flags) {
        // Without a loop the compiler sees that the array of a call with one flag is not needed.
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
