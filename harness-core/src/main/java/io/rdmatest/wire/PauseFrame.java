package io.rdmatest.wire;

import java.time.Instant;

/**
 * A pause frame: IEEE 802.3 annex 31B (all traffic), or 802.1Qbb priority flow control. It pauses or resumes the link
 * partner's transmission. Most adapters consume these frames. A capture has them from a mirror port, or if the adapter
 * passes them on.
 *
 * @param time the time of capture
 * @param priorities the affected priorities, one bit each, the lowest bit for priority 0; -1 for all traffic
 * @param resumes whether each pause time is 0: the sender may resume
 */
public record PauseFrame(Instant time, int priorities, boolean resumes) implements WirePacket {

    /** Returns whether it is a frame of priority flow control. */
    public boolean isOfPriorities() {
        return priorities >= 0;
    }
}
