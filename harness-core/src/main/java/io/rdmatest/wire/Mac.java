package io.rdmatest.wire;

import java.net.Inet4Address;
import java.net.InetAddress;

/**
 * An Ethernet address.
 *
 * @param value its 48 bits
 */
public record Mac(long value) {

    private static final long IPV4_GROUPS = 0x0100_5e00_0000L;
    private static final long IPV4_MASK = 0x7f_ffffL;
    private static final long IPV6_GROUPS = 0x3333_0000_0000L;
    private static final long GROUP_BIT = 1L << 40;

    /**
     * Returns the Ethernet address of an IP multicast group: RFC 1112 section 6.4, RFC 2464 section 7.
     *
     * @param group the group's address
     */
    public static Mac ofGroup(InetAddress group) {
        byte[] bytes = group.getAddress();
        long last = 0;
        for (int i = bytes.length - 4; i < bytes.length; i++) {
            last = last << 8 | bytes[i] & 0xff;
        }
        return new Mac(group instanceof Inet4Address ? IPV4_GROUPS | last & IPV4_MASK : IPV6_GROUPS | last);
    }

    /** Returns whether it is a group address. */
    public boolean isGroup() {
        return (value & GROUP_BIT) != 0;
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (int shift = 40; shift >= 0; shift -= 8) {
            text.append("%02x".formatted(value >> shift & 0xff)).append(shift == 0 ? "" : ":");
        }
        return text.toString();
    }
}
