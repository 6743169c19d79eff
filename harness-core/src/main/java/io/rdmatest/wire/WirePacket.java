package io.rdmatest.wire;

import java.time.Instant;

/** A decoded packet. */
public sealed interface WirePacket permits RocePacket, MembershipReport, PauseFrame, OtherPacket {

    /**
     * Decodes a packet: its link layer with VLAN tags, IPv4, IPv6 or the GRH of RoCE v1, and the layers above.
     *
     * @param frame the captured packet, possibly truncated
     * @return the packet; an {@link OtherPacket} if no other type fits
     */
    static WirePacket of(Frame frame) {
        return Decoder.decode(frame);
    }

    /** Returns the time of capture. */
    Instant time();
}
