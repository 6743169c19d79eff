package io.rdmatest.wire;

import java.util.Optional;

/** The link-layer header types of pcap-linktype(7) that can hold RoCE. A captured packet begins with this header. */
public enum LinkType {
    /** The Ethernet header. */
    ETHERNET(1),
    /** The IP header, of either version. */
    RAW(101),
    /** The "cooked" header of Linux for {@code -i any}; it has no destination address. */
    LINUX_SLL(113),
    /** The IPv4 header. */
    IPV4(228),
    /** The IPv6 header. */
    IPV6(229),
    /** The second version of the "cooked" header, which names the interface. */
    LINUX_SLL2(276);

    private final int code;

    LinkType(int code) {
        this.code = code;
    }

    static Optional<LinkType> of(int code) {
        for (LinkType each : values()) {
            if (each.code == code) {
                return Optional.of(each);
            }
        }
        return Optional.empty();
    }
}
