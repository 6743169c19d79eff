package io.rdmatest.wire;

import java.time.Instant;

/**
 * A packet that is no RDMA traffic, or too damaged or too short to tell.
 *
 * @param time when it passed
 * @param what what can be said of it, such as {@code ARP}
 * @param malformed whether it breaks its own format; not if it was only captured in part
 */
public record OtherPacket(Instant time, String what, boolean malformed) implements WirePacket {}
