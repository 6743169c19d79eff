package io.rdmatest.wire;

import java.net.InetAddress;
import java.time.Instant;
import java.util.List;

/**
 * Says that a host wants the packets of multicast groups, or no longer: IGMP (RFC 2236, RFC 3376) or MLD (RFC 2710, RFC 3810).
 *
 * @param time when it was sent
 * @param sender the host
 * @param joined the groups that it wants
 * @param left those that it no longer wants
 */
public record MembershipReport(Instant time, InetAddress sender, List<InetAddress> joined, List<InetAddress> left)
        implements WirePacket {

    /** Copies the lists. */
    public MembershipReport {
        joined = List.copyOf(joined);
        left = List.copyOf(left);
    }
}
