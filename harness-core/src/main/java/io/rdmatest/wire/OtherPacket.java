package io.rdmatest.wire;

import java.net.InetAddress;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A packet that is not RDMA traffic, or is too damaged or too short to decode.
 *
 * @param time the time of capture
 * @param what a description, such as {@code ARP}
 * @param malformed whether it violates its own format; false if it was only captured in part
 * @param source its source IP address; null if it has none or it is unknown
 * @param notJudged why it can't be judged although it may be RDMA traffic; null if it is not RDMA traffic
 */
public record OtherPacket(
        Instant time,
        String what,
        boolean malformed,
        @Nullable InetAddress source,
        @Nullable NotJudged notJudged) implements WirePacket {}
