package io.rdmatest.wire;

import java.time.Instant;

/** A decoded packet. */
public sealed interface WirePacket permits RocePacket, MembershipReport, PauseFrame, OtherPacket {

    /**
     * Decodes a packet: its link layer with any VLAN tags, IPv4, IPv6 or the GRH of RoCE v1, and what is above.
     *
     * @param frame the packet as captured, perhaps not whole
     * @return what it is; an {@link OtherPacket} if it is nothing else
     */
    static WirePacket of(Frame frame) {
        return Decoder.decode(frame);
    }

    /** Returns when it passed. */
    Instant time();
}
