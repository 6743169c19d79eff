package io.rdmatest.wire;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;

/** Decodes packets. */
final class Decoder {

    private static final int IPV4 = 0x0800;
    private static final int IPV6 = 0x86dd;
    private static final int ARP = 0x0806;
    private static final int VLAN = 0x8100;
    private static final int PROVIDER_VLAN = 0x88a8;
    private static final int OLD_PROVIDER_VLAN = 0x9100;
    private static final int MAC_CONTROL = 0x8808;
    private static final int MPLS = 0x8847;
    private static final int MPLS_UPSTREAM = 0x8848;
    private static final int MAC_SECURITY = 0x88e5;
    private static final int BRIDGED = 0x6558;
    private static final int ERSPAN = 0x88be;
    private static final int ERSPAN_3 = 0x22eb;
    private static final int VXLAN_PORT = 4789;
    private static final int GENEVE_PORT = 6081;

    /** Tunnels within tunnels: more are not decoded. */
    private static final int MOST_TUNNELS = 8;

    private static final int PAUSE = 0x0001;
    private static final int PRIORITY_PAUSE = 0x0101;
    private static final int PRIORITIES = 8;

    private static final int HOP_BY_HOP = 0;
    private static final int IGMP = 2;
    private static final int IPV4_INSIDE = 4;
    private static final int IPV6_INSIDE = 41;
    private static final int GRE = 47;
    private static final int ENCRYPTED = 50;
    private static final int UDP = 17;
    private static final int ICMPV6 = 58;
    private static final int ROUTING = 43;
    private static final int FRAGMENT = 44;
    private static final int DESTINATION_OPTIONS = 60;
    private static final int GRH_TRANSPORT = 0x1b;
    private static final int MORE_FRAGMENTS = 0x2000;
    private static final int FRAGMENT_OFFSET = 0x1fff;

    private static final int IPV4_HEADER = 20;
    private static final int IPV6_HEADER = 40;
    private static final int UDP_HEADER = 8;
    private static final int BTH = 12;
    private static final int XRCETH = 4;
    private static final int ATOMIC_ETH = 28;
    private static final int ATOMIC_ACK_ETH = 8;
    private static final int FETH = 4;
    private static final int IETH = 4;
    private static final int ICRC = 4;
    private static final int MANAGEMENT_QP = 1;
    private static final int LOW_24 = 0xff_ffff;

    private final Frame frame;
    private final ByteBuffer in;
    private @Nullable Mac destinationMac;
    private String what = "Ethernet";

    /**
     * The begin and the end of the IP packet; Ethernet padding may follow. The end is unknown until the IP header is
     * read.
     */
    private int ipStart;

    private int ipEnd = Integer.MAX_VALUE;
    private @Nullable InetAddress source;
    private @Nullable InetAddress destination;
    private int trafficClass;
    private int identification = -1;
    private int tunnels;

    /** Whether it is the first of several fragments. */
    private boolean fragmented;

    private Decoder(Frame frame) {
        this.frame = frame;
        in = frame.bytes().duplicate();
    }

    static WirePacket decode(Frame frame) {
        Decoder decoder = new Decoder(frame);
        try {
            return decoder.link();
        } catch (BufferUnderflowException | IndexOutOfBoundsException e) {
            return decoder.tooShort();
        }
    }

    /** A mirror port may truncate a frame silently. Then the IP header has a larger length than the frame. */
    private OtherPacket tooShort() {
        if (isUnknownInside() && frame.isWhole()) {
            return tunnel(what);
        }
        boolean cut = !frame.isWhole() || ipEnd != Integer.MAX_VALUE && ipEnd > frame.length();
        return new OtherPacket(
                time(),
                "too short for %s: %d of %d bytes".formatted(what, in.limit(), frame.length()),
                !cut && !fragmented,
                source,
                fragmented ? NotJudged.FRAGMENT : cut ? NotJudged.CUT_HEADERS : null);
    }

    /** Returns whether nothing inside a tunnel is known to be IP: it may be anything. */
    private boolean isUnknownInside() {
        return tunnels > 0 && source == null;
    }

    private Instant time() {
        return frame.time();
    }

    private OtherPacket other(String what) {
        return new OtherPacket(time(), what, false, source, null);
    }

    private OtherPacket malformed(String what) {
        if (isUnknownInside()) {
            return tunnel(this.what);
        }
        return new OtherPacket(time(), what, true, source, null);
    }

    private WirePacket link() {
        return switch (frame.link()) {
            case ETHERNET -> ethernet();
            case LINUX_SLL -> {
                skip(14);
                yield network(u16());
            }
            case LINUX_SLL2 -> {
                int type = u16();
                skip(18);
                yield network(type);
            }
            case RAW -> network((in.get(0) & 0xff) >> 4 == 4 ? IPV4 : IPV6);
            case IPV4 -> network(IPV4);
            case IPV6 -> network(IPV6);
        };
    }

    private WirePacket ethernet() {
        destinationMac = new Mac((long) in.getInt() << 16 & 0xffff_ffff_0000L | u16());
        skip(6);
        return network(u16());
    }

    private WirePacket network(int ethernetType) {
        int type = ethernetType;
        while (type == VLAN || type == PROVIDER_VLAN || type == OLD_PROVIDER_VLAN) {
            skip(2);
            type = u16();
        }
        ipStart = in.position();
        return switch (type) {
            case IPV4 -> ipv4();
            case IPV6 -> ipv6();
            case RocePacket.ETHERNET_TYPE_V1 -> roceV1();
            case MAC_CONTROL -> macControl();
            case MPLS, MPLS_UPSTREAM -> labels();
            case MAC_SECURITY -> tunnel("MACsec");
            case ARP -> other("ARP");
            default -> other("Ethernet type 0x%04x".formatted(type));
        };
    }

    // ---- tunnels: the packet inside is judged, as a mirror port or an overlay has it ----

    /** A tunnel whose content can't be decoded. */
    private OtherPacket tunnel(String kind) {
        return new OtherPacket(time(), "inside " + kind, false, source, NotJudged.TUNNEL);
    }

    /** Begins the headers of a tunnel. The source is unknown until an IP header inside is read. */
    private void enter(String kind) {
        what = kind;
        tunnels++;
        source = null;
        destinationMac = null;
        identification = -1;
    }

    /** Decodes the packet inside a tunnel, from the position on, by its Ethernet type. */
    private WirePacket inside(int type) {
        if (tunnels > MOST_TUNNELS) {
            return tunnel(what);
        }
        return type == BRIDGED ? ethernet() : network(type);
    }

    /** MPLS, RFC 3032. The labels do not say what follows them: an IP header, or a control word (RFC 4385) and Ethernet. */
    private WirePacket labels() {
        enter("MPLS");
        boolean last;
        do {
            last = (in.getInt() & 0x100) != 0;
        } while (!last);
        return switch (in.get(in.position()) >> 4 & 0xf) {
            case 4 -> inside(IPV4);
            case 6 -> inside(IPV6);
            case 0 -> {
                skip(4);
                yield inside(BRIDGED);
            }
            default -> tunnel(what);
        };
    }

    /** GRE, RFC 2784 and 2890; with Ethernet inside also NVGRE, and ERSPAN of all three types. */
    private WirePacket gre() {
        enter("GRE");
        int flags = u16();
        int type = u16();
        boolean sequence = (flags & 0x1000) != 0;
        if ((flags & 0x4007) != 0) {
            return tunnel("GRE with routing or of another version");
        }
        skip(((flags & 0x8000) != 0 ? 4 : 0) + ((flags & 0x2000) != 0 ? 4 : 0) + (sequence ? 4 : 0));
        return switch (type) {
            case IPV4, IPV6, BRIDGED, MPLS -> inside(type);
            case ERSPAN -> {
                // Type I has neither a sequence number nor a header.
                skip(sequence ? 8 : 0);
                yield inside(BRIDGED);
            }
            case ERSPAN_3 -> {
                boolean more = (in.getInt(in.position() + 8) & 1) != 0;
                skip(more ? 20 : 12);
                yield inside(BRIDGED);
            }
            default -> tunnel("GRE of type 0x%04x".formatted(type));
        };
    }

    /** VXLAN, RFC 7348. */
    private WirePacket vxlan() {
        enter("VXLAN");
        skip(UDP_HEADER + 8);
        return inside(BRIDGED);
    }

    /** Geneve, RFC 8926. */
    private WirePacket geneve() {
        enter("Geneve");
        skip(UDP_HEADER);
        int options = (in.get() & 0x3f) * 4;
        skip(1);
        int type = u16();
        skip(4 + options);
        return type == BRIDGED || type == IPV4 || type == IPV6
                ? inside(type)
                : tunnel("Geneve of type 0x%04x".formatted(type));
    }

    private WirePacket macControl() {
        what = "a pause frame";
        int operation = u16();
        if (operation == PAUSE) {
            return new PauseFrame(time(), -1, u16() == 0);
        }
        if (operation != PRIORITY_PAUSE) {
            return other("MAC control 0x%04x".formatted(operation));
        }
        int priorities = u16() & 0xff;
        boolean resumes = true;
        for (int i = 0; i < PRIORITIES; i++) {
            int quanta = u16();
            resumes &= (priorities & 1 << i) == 0 || quanta == 0;
        }
        return new PauseFrame(time(), priorities, resumes);
    }

    private WirePacket ipv4() {
        what = "IPv4";
        int header = (in.get(ipStart) & 0xf) * 4;
        if (in.get(ipStart) >> 4 != 4 || header < IPV4_HEADER) {
            return malformed("Ethernet type IPv4, but another version in the IP header");
        }
        ipEnd = ipStart + u16At(ipStart + 2);
        trafficClass = in.get(ipStart + 1) & 0xff;
        int fragment = u16At(ipStart + 6);
        int protocol = in.get(ipStart + 9) & 0xff;
        identification = u16At(ipStart + 4);
        source = address(ipStart + 12, 4);
        destination = address(ipStart + 16, 4);
        goTo(ipStart + header);
        if ((fragment & FRAGMENT_OFFSET) != 0) {
            return laterFragment(protocol);
        }
        fragmented = (fragment & MORE_FRAGMENTS) != 0;
        return protocol == IGMP ? igmp() : transport(protocol);
    }

    private OtherPacket laterFragment(int protocol) {
        return new OtherPacket(
                time(),
                "a later fragment of IP protocol " + protocol,
                false,
                source,
                protocol == UDP ? NotJudged.FRAGMENT : null);
    }

    private WirePacket ipv6() {
        what = "IPv6";
        if ((in.get(ipStart) & 0xff) >> 4 != 6) {
            return malformed("Ethernet type IPv6, but another version in the IP header");
        }
        int protocol = globalHeader();
        while (protocol == HOP_BY_HOP
                || protocol == ROUTING
                || protocol == DESTINATION_OPTIONS
                || protocol == FRAGMENT) {
            int following = in.get() & 0xff;
            if (protocol == FRAGMENT) {
                skip(1);
                int fragment = u16();
                skip(4);
                if (fragment >> 3 != 0) {
                    return laterFragment(following);
                }
                fragmented = (fragment & 1) != 0;
            } else {
                int length = in.get() & 0xff;
                skip(6 + 8 * length);
            }
            protocol = following;
        }
        return protocol == ICMPV6 ? icmpv6() : transport(protocol);
    }

    private WirePacket transport(int protocol) {
        return switch (protocol) {
            case UDP -> udp();
            case GRE -> gre();
            case IPV4_INSIDE, IPV6_INSIDE -> {
                enter("IP");
                yield inside(protocol == IPV4_INSIDE ? IPV4 : IPV6);
            }
            case ENCRYPTED -> tunnel("IPsec");
            default -> other("IP protocol " + protocol);
        };
    }

    /** Reads an IPv6 header or a GRH, which have the same format, and returns the next header's type. */
    private int globalHeader() {
        ipEnd = ipStart + IPV6_HEADER + u16At(ipStart + 4);
        trafficClass = u16At(ipStart) >> 4 & 0xff;
        int protocol = in.get(ipStart + 6) & 0xff;
        source = address(ipStart + 8, 16);
        destination = address(ipStart + 24, 16);
        goTo(ipStart + IPV6_HEADER);
        return protocol;
    }

    // ---- multicast membership ----

    private WirePacket igmp() {
        what = "IGMP";
        int at = in.position();
        int type = in.get(at) & 0xff;
        return switch (type) {
            case 0x12, 0x16 -> membership(List.of(address(at + 4, 4)), List.of());
            case 0x17 -> membership(List.of(), List.of(address(at + 4, 4)));
            case 0x22 -> records(at, 4);
            default -> other("IGMP type 0x%02x".formatted(type));
        };
    }

    private WirePacket icmpv6() {
        what = "ICMPv6";
        int at = in.position();
        int type = in.get(at) & 0xff;
        return switch (type) {
            case 131 -> membership(List.of(address(at + 8, 16)), List.of());
            case 132 -> membership(List.of(), List.of(address(at + 8, 16)));
            case 143 -> records(at, 16);
            default -> other("ICMPv6 type " + type);
        };
    }

    private MembershipReport membership(List<InetAddress> joined, List<InetAddress> left) {
        return new MembershipReport(time(), Objects.requireNonNull(source), joined, left);
    }

    /** Reads the group records of IGMPv3 and MLDv2: the included or excluded sources of a group. */
    private MembershipReport records(int at, int size) {
        List<InetAddress> joined = new ArrayList<>();
        List<InetAddress> left = new ArrayList<>();
        int count = u16At(at + 6);
        int record = at + 8;
        for (int i = 0; i < count; i++) {
            int type = in.get(record);
            int auxiliary = in.get(record + 1) & 0xff;
            int sources = u16At(record + 2);
            // Odd types list included sources, even types excluded ones.
            boolean wanted = type % 2 == 0 || sources > 0;
            // Type 6 only blocks sources: it does not change the membership of the group.
            if (type != 6) {
                (wanted ? joined : left).add(address(record + 4, size));
            }
            record += 4 + size + sources * size + 4 * auxiliary;
        }
        return membership(joined, left);
    }

    // ---- RoCE ----

    private WirePacket roceV1() {
        what = "a GRH";
        int transport = globalHeader();
        if (transport != GRH_TRANSPORT) {
            return malformed("RoCE v1 with 0x%02x as the GRH's next header, not 0x1b".formatted(transport));
        }
        return roce(0, in.position(), ipEnd, -1);
    }

    private WirePacket udp() {
        what = "UDP";
        int udp = in.position();
        int sourcePort = u16At(udp);
        int port = u16At(udp + 2);
        return switch (port) {
            case RocePacket.PORT -> roce(sourcePort, udp + UDP_HEADER, udp + u16At(udp + 4), udp);
            case VXLAN_PORT -> vxlan();
            case GENEVE_PORT -> geneve();
            default -> other("UDP port " + port);
        };
    }

    /**
     * Decodes a packet from its base transport header on.
     *
     * @param end the end of the packet, after the invariant CRC
     * @param udp the position of the UDP header; -1 for RoCE v1
     */
    private WirePacket roce(int sourcePort, int bth, int end, int udp) {
        Opcode opcode = new Opcode(in.get(bth) & 0xff);
        int flags = in.get(bth + 1);
        int padding = flags >> 4 & 3;
        what = opcode.name();
        if (!fragmented && end > ipEnd) {
            return malformed("UDP port " + RocePacket.PORT + ", longer than its IP packet");
        }
        // The rest is Ethernet padding.
        in.limit(Math.max(bth, Math.min(end, in.limit())));
        goTo(bth + BTH + (opcode.is(Opcode.Transport.XRC) && opcode.isRequest() ? XRCETH : 0));

        RocePacket.Deth datagram =
                opcode.is(Opcode.Transport.UD) ? new RocePacket.Deth(in.getInt(), in.getInt() & LOW_24) : null;
        if (opcode.is(Opcode.Kind.FLUSH)) {
            skip(FETH);
        }
        RocePacket.Reth memory = opcode.hasReth()
                ? new RocePacket.Reth(in.getLong(), in.getInt(), Integer.toUnsignedLong(in.getInt()))
                : null;
        Aeth acknowledgement = opcode.hasAeth() ? new Aeth(in.get(in.position()) & 0xff, in.getInt() & LOW_24) : null;
        if (opcode.hasAtomicEth()) {
            skip(ATOMIC_ETH);
        } else if (opcode.is(Opcode.Kind.ATOMIC_ACKNOWLEDGE)) {
            skip(ATOMIC_ACK_ETH);
        }
        Long immediate = opcode.hasImmediate() ? Long.valueOf(Integer.toUnsignedLong(in.getInt())) : null;
        if (opcode.hasInvalidate()) {
            skip(IETH);
        }
        int payloadLength = end - ICRC - padding - in.position();
        if (payloadLength < 0) {
            return malformed("UDP port " + RocePacket.PORT + ", too short for " + opcode);
        }
        ByteBuffer payload = in.slice(in.position(), Math.min(payloadLength, in.remaining()));
        int destinationQp = in.getInt(bth + 4) & LOW_24;
        NotJudged unchecked = fragmented
                ? NotJudged.FRAGMENT
                : end > in.limit() ? NotJudged.CUT_PACKET : udp < 0 ? NotJudged.ROCE_V1 : null;
        Boolean checksum = unchecked == null ? Boolean.valueOf(isIntact(udp, bth, end)) : null;
        if (Boolean.FALSE.equals(checksum) && in.getInt(end - ICRC) == 0) {
            unchecked = NotJudged.NO_CHECKSUM;
        }
        return new RocePacket(
                time(),
                destinationMac,
                Objects.requireNonNull(source),
                Objects.requireNonNull(destination),
                trafficClass,
                identification,
                sourcePort,
                opcode,
                flags & 0xf,
                u16At(bth + 2),
                destinationQp,
                in.get(bth + 8) < 0,
                in.getInt(bth + 8) & LOW_24,
                memory,
                acknowledgement,
                datagram,
                immediate,
                payloadLength,
                payload,
                checksum,
                unchecked,
                datagram != null && destinationQp == MANAGEMENT_QP ? CmMessage.of(payload.slice()) : null);
    }

    /**
     * Returns whether the invariant CRC is right. It is a CRC-32 over eight bytes of ones in place of InfiniBand's
     * local header, and everything from the IP header on. Fields that routers change count as ones.
     */
    private boolean isIntact(int udp, int bth, int end) {
        byte[] bytes = new byte[end - ipStart];
        in.get(ipStart, bytes);
        int[] ones;
        if (bytes[0] >> 4 == 4) {
            // Type of service, time to live, checksum.
            ones = new int[] {1, 8, 10, 11};
        } else {
            bytes[0] |= 0x0f;
            // Traffic class and flow label, hop limit.
            ones = new int[] {1, 2, 3, 7};
        }
        for (int each : ones) {
            bytes[each] = -1;
        }
        bytes[udp - ipStart + 6] = -1;
        bytes[udp - ipStart + 7] = -1;
        bytes[bth - ipStart + 4] = -1;
        CRC32 crc = new CRC32();
        for (int i = 0; i < 8; i++) {
            crc.update(0xff);
        }
        crc.update(bytes, 0, bytes.length - ICRC);
        return (int) crc.getValue() == Integer.reverseBytes(in.getInt(end - ICRC));
    }

    // ---- bytes ----

    private void skip(int count) {
        goTo(in.position() + count);
    }

    private void goTo(int position) {
        if (position > in.limit()) {
            throw new BufferUnderflowException();
        }
        in.position(position);
    }

    private int u16() {
        return Short.toUnsignedInt(in.getShort());
    }

    private int u16At(int at) {
        return Short.toUnsignedInt(in.getShort(at));
    }

    private InetAddress address(int at, int length) {
        byte[] bytes = new byte[length];
        in.get(at, bytes);
        try {
            return InetAddress.getByAddress(bytes);
        } catch (UnknownHostException e) {
            throw new IllegalStateException(e);
        }
    }
}
