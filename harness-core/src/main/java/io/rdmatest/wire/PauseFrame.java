package io.rdmatest.wire;

import java.time.Instant;

/**
 * A pause frame: IEEE 802.3 annex 31B (all traffic), or 802.1Qbb priority flow control. It stops the neighbour's sender, or lets
 * it go on. Most adapters consume these frames; a capture has them from a mirror port, or where the adapter passes them on.
 *
 * @param time when it passed
 * @param priorities the priorities that it names, one bit each, the lowest bit for priority 0; -1 for all traffic
 * @param resumes whether each pause time in it is 0: the sender may go on
 */
public record PauseFrame(Instant time, int priorities, boolean resumes) implements WirePacket {

    /** Tells whether it is one of priority flow control. */
    public boolean isOfPriorities() {
        return priorities >= 0;
    }
}
