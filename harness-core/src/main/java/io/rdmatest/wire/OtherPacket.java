package io.rdmatest.wire;

import java.net.InetAddress;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A packet that is no RDMA traffic, or too damaged or too short to tell.
 *
 * @param time when it passed
 * @param what what can be said of it, such as {@code ARP}
 * @param malformed whether it breaks its own format; not if it was only captured in part
 * @param source the IP address that it comes from; null if it has none, or it is not known
 * @param notJudged why it can't be judged although it may be RDMA traffic; null if it is none
 */
public record OtherPacket(
        Instant time,
        String what,
        boolean malformed,
        @Nullable InetAddress source,
        @Nullable NotJudged notJudged) implements WirePacket {}
