package io.rdmatest.wire;

import java.net.InetAddress;
import java.time.Instant;
import java.util.List;

/**
 * A host's report that it joins or leaves multicast groups: IGMP (RFC 2236, RFC 3376) or MLD (RFC 2710, RFC 3810).
 *
 * @param time when it was sent
 * @param sender the host
 * @param joined the groups that it joins
 * @param left the groups that it leaves
 */
public record MembershipReport(Instant time, InetAddress sender, List<InetAddress> joined, List<InetAddress> left)
        implements WirePacket {

    /** Copies the lists. */
    public MembershipReport {
        joined = List.copyOf(joined);
        left = List.copyOf(left);
    }
}
