package io.rdmatest.wire;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32;

/** Builds the bytes of packets, field by field, and without the code that takes them apart. */
final class Packets {

    static final InetAddress A = InetAddress.ofLiteral("10.77.0.1");
    static final InetAddress B = InetAddress.ofLiteral("10.77.0.2");
    static final InetAddress A6 = InetAddress.ofLiteral("fd77::1");
    static final InetAddress B6 = InetAddress.ofLiteral("fd77::2");
    static final long MAC_A = 0x5254_0077_0001L;
    static final long MAC_B = 0x5254_0077_0002L;
    static final Instant TIME = Instant.ofEpochSecond(1_700_000_000L, 123_456_789);

    private static final int PORT = 4791;

    private Packets() {}

    /** A RoCE packet in the making. */
    static final class Roce {
        private InetAddress from = A;
        private InetAddress to = B;
        private long mac = MAC_B;
        private final int opcode;
        private int qp = 0x22;
        private int psn;
        private int version;
        private boolean damaged;
        private long seconds;
        private int tag;
        private int outerTag;
        private int trafficClass;
        private int sourcePort = 0xc001;
        private int identification = 0x1234;
        private boolean unsealed;
        private byte[] headers = {};
        private byte[] payload = {};

        private Roce(int opcode) {
            this.opcode = opcode;
        }

        Roce between(InetAddress source, InetAddress destination) {
            from = source;
            to = destination;
            return this;
        }

        Roce mac(long value) {
            mac = value;
            return this;
        }

        Roce qp(int value) {
            qp = value;
            return this;
        }

        Roce psn(int value) {
            psn = value;
            return this;
        }

        Roce version(int value) {
            version = value;
            return this;
        }

        Roce damaged() {
            damaged = true;
            return this;
        }

        /** Sent so much later than others. */
        Roce after(long value) {
            seconds = value;
            return this;
        }

        Roce trafficClass(int value) {
            trafficClass = value;
            return this;
        }

        Roce sourcePort(int value) {
            sourcePort = value;
            return this;
        }

        /** The IPv4 header's identification. */
        Roce identification(int value) {
            identification = value;
            return this;
        }

        /** As it is captured before an adapter puts in the invariant checksum. */
        Roce unsealed() {
            unsealed = true;
            return this;
        }

        Roce tagged(int outer, int vlan) {
            outerTag = outer;
            tag = vlan;
            return this;
        }

        Roce tagged(int vlan) {
            tag = vlan;
            return this;
        }

        Roce payload(int length) {
            payload = new byte[length];
            Arrays.fill(payload, (byte) 0x5a);
            return this;
        }

        Roce payload(byte[] bytes) {
            payload = bytes.clone();
            return this;
        }

        Roce reth(long address, int key, int length) {
            return headers(ByteBuffer.allocate(16)
                    .putLong(address)
                    .putInt(key)
                    .putInt(length)
                    .array());
        }

        Roce aeth(int syndrome, int sequence) {
            return headers(
                    ByteBuffer.allocate(4).putInt(syndrome << 24 | sequence).array());
        }

        Roce deth(int queueKey, int sourceQp) {
            return headers(
                    ByteBuffer.allocate(8).putInt(queueKey).putInt(sourceQp).array());
        }

        Roce headers(byte[] bytes) {
            headers = bytes.clone();
            return this;
        }

        /** The IP packet. */
        byte[] ip() {
            int padding = -payload.length & 3;
            byte[] udp = ByteBuffer.allocate(8 + 12 + headers.length + payload.length + padding + 4)
                    .putShort((short) sourcePort)
                    .putShort((short) PORT)
                    .putShort((short) (8 + 12 + headers.length + payload.length + padding + 4))
                    .putShort((short) 0)
                    .put((byte) opcode)
                    .put((byte) (padding << 4 | version))
                    .putShort((short) 0xffff)
                    .putInt(qp)
                    .putInt(1 << 31 | psn)
                    .put(headers)
                    .put(payload)
                    .array();
            byte[] ip = Packets.ip(from, to, 17, udp);
            if (ip[0] >> 4 == 4) {
                ip[1] = (byte) trafficClass;
                ByteBuffer.wrap(ip).putShort(4, (short) identification);
            } else {
                ByteBuffer.wrap(ip).putInt(0, 0x6001_2345 | trafficClass << 20);
            }
            int header = ip.length - udp.length;
            int crc = unsealed ? 0 : invariant(ip, header);
            ByteBuffer.wrap(ip).putInt(ip.length - 4, Integer.reverseBytes(crc));
            if (damaged) {
                ip[header + 20]++;
            }
            return ip;
        }

        Frame frame() {
            byte[] bytes = ethernet(mac, outerTag, tag, ip());
            return new Frame(TIME.plusSeconds(seconds), bytes.length, ByteBuffer.wrap(bytes));
        }

        /** The headers and payload behind a GRH, as RoCE v1 has them. */
        Frame frameOfV1() {
            byte[] six = between(A6, B6).ip();
            byte[] grh = new byte[six.length - 8];
            System.arraycopy(six, 0, grh, 0, 40);
            System.arraycopy(six, 48, grh, 40, six.length - 48);
            ByteBuffer.wrap(grh).putShort(4, (short) (grh.length - 40)).put(6, (byte) 0x1b);
            byte[] bytes = ethernet(mac, outerTag, tag, grh);
            ByteBuffer.wrap(bytes).putShort(bytes.length - grh.length - 2, (short) 0x8915);
            return new Frame(TIME.plusSeconds(seconds), bytes.length, ByteBuffer.wrap(bytes));
        }

        /** The first fragment of the IP packet, and the second one. */
        List<Frame> fragments() {
            byte[] ip = ip();
            int first = 20 + 48;
            byte[] one = Arrays.copyOf(ip, first);
            ByteBuffer.wrap(one).putShort(2, (short) first).putShort(6, (short) 0x2000);
            byte[] two = new byte[20 + ip.length - first];
            System.arraycopy(ip, 0, two, 0, 20);
            System.arraycopy(ip, first, two, 20, ip.length - first);
            ByteBuffer.wrap(two).putShort(2, (short) two.length).putShort(6, (short) (48 / 8));
            return List.of(Packets.frame(ethernet(mac, 0, 0, one)), Packets.frame(ethernet(mac, 0, 0, two)));
        }

        WirePacket decoded() {
            return WirePacket.of(frame());
        }

        private static int invariant(byte[] packet, int header) {
            byte[] masked = packet.clone();
            if (header == 20) {
                masked[1] = masked[8] = masked[10] = masked[11] = -1;
            } else {
                masked[0] |= 0xf;
                masked[1] = masked[2] = masked[3] = masked[7] = -1;
            }
            masked[header + 6] = masked[header + 7] = -1;
            masked[header + 8 + 4] = -1;
            CRC32 crc = new CRC32();
            crc.update(new byte[] {-1, -1, -1, -1, -1, -1, -1, -1});
            crc.update(masked, 0, masked.length - 4);
            return (int) crc.getValue();
        }
    }

    static Roce roce(int opcode) {
        return new Roce(opcode);
    }

    /** A message of the communication manager, as the payload of a datagram. */
    static byte[] mad(int attribute, long transaction, ByteBuffer data) {
        ByteBuffer mad = ByteBuffer.allocate(256)
                .put(new byte[] {1, 7, 2, 3})
                .putInt(0)
                .putLong(transaction)
                .putShort((short) attribute)
                .putShort((short) 0)
                .putInt(0);
        return mad.put(data.clear()).array();
    }

    static ByteBuffer data() {
        return ByteBuffer.allocate(232);
    }

    static Roce cm(int attribute, long transaction, ByteBuffer data) {
        return roce(0x64).qp(1).deth(0x8001_0000, 1).payload(mad(attribute, transaction, data));
    }

    static Frame ethernetIp(long mac, InetAddress from, InetAddress to, int protocol, byte[] payload) {
        return frame(ethernet(mac, 0, 0, ip(from, to, protocol, payload)));
    }

    private static byte[] ip(InetAddress from, InetAddress to, int protocol, byte[] payload) {
        byte[] source = from.getAddress();
        if (source.length == 4) {
            return ByteBuffer.allocate(20 + payload.length)
                    .put((byte) 0x45)
                    .put((byte) 0)
                    .putShort((short) (20 + payload.length))
                    .putInt(0x1234_4000)
                    .put((byte) 64)
                    .put((byte) protocol)
                    .putShort((short) 0xabcd)
                    .put(source)
                    .put(to.getAddress())
                    .put(payload)
                    .array();
        }
        return ByteBuffer.allocate(40 + payload.length)
                .putInt(0x6012_3456)
                .putShort((short) payload.length)
                .put((byte) protocol)
                .put((byte) 64)
                .put(source)
                .put(to.getAddress())
                .put(payload)
                .array();
    }

    private static byte[] ethernet(long mac, int outer, int tag, byte[] ip) {
        ByteBuffer frame = ByteBuffer.allocate(14 + (outer == 0 ? 0 : 4) + (tag == 0 ? 0 : 4) + ip.length)
                .putShort((short) (mac >> 32))
                .putInt((int) mac)
                .putShort((short) (MAC_A >> 32))
                .putInt((int) MAC_A);
        if (outer != 0) {
            frame.putShort((short) 0x88a8).putShort((short) outer);
        }
        if (tag != 0) {
            frame.putShort((short) 0x8100).putShort((short) tag);
        }
        return frame.putShort((short) (ip[0] >> 4 == 4 ? 0x0800 : 0x86dd))
                .put(ip)
                .array();
    }

    /** Pause frames: of all traffic, or of the priorities that have a time. */
    static Frame pause(int... quanta) {
        ByteBuffer frame = ByteBuffer.allocate(60)
                .putShort((short) 0x0180)
                .putInt(0xc200_0001)
                .putShort((short) (MAC_A >> 32))
                .putInt((int) MAC_A)
                .putShort((short) 0x8808);
        if (quanta.length == 1) {
            frame.putShort((short) 1).putShort((short) quanta[0]);
        } else {
            frame.putShort((short) 0x0101).putShort((short) 0xff);
            for (int each : quanta) {
                frame.putShort((short) each);
            }
        }
        return frame(frame.array());
    }

    /** A packet with other headers in front of it. */
    static Frame behind(byte[] headers, byte[] packet) {
        return frame(ByteBuffer.allocate(headers.length + packet.length)
                .put(headers)
                .put(packet)
                .array());
    }

    /** The Ethernet header of a packet of some type. */
    static byte[] ethernetHeader(int type) {
        return ByteBuffer.allocate(14)
                .putShort((short) (MAC_B >> 32))
                .putInt((int) MAC_B)
                .putShort((short) (MAC_A >> 32))
                .putInt((int) MAC_A)
                .putShort((short) type)
                .array();
    }

    /** An IP packet between two switches, with the header of a tunnel and what is inside. */
    static Frame tunnel(int protocol, byte[] header, byte[] inside) {
        return ethernetIp(
                MAC_B,
                InetAddress.ofLiteral("192.0.2.250"),
                InetAddress.ofLiteral("192.0.2.251"),
                protocol,
                bytes(behind(header, inside)));
    }

    static byte[] bytes(Frame frame) {
        byte[] bytes = new byte[frame.bytes().remaining()];
        frame.bytes().get(0, bytes);
        return bytes;
    }

    /** A "cooked" capture of an IP packet: version 1, or version 2 with the interface. */
    static Frame cooked(Roce packet, int interfaceIndex) {
        byte[] ip = packet.ip();
        short type = (short) (ip[0] >> 4 == 4 ? 0x0800 : 0x86dd);
        ByteBuffer bytes;
        if (interfaceIndex == 0) {
            bytes = ByteBuffer.allocate(16 + ip.length).putShort(14, type).put(16, ip);
        } else {
            bytes = ByteBuffer.allocate(20 + ip.length)
                    .putShort(0, type)
                    .putInt(4, interfaceIndex)
                    .put(20, ip);
        }
        return new Frame(
                TIME.plusSeconds(packet.seconds),
                bytes.capacity(),
                bytes,
                interfaceIndex == 0 ? LinkType.LINUX_SLL : LinkType.LINUX_SLL2,
                interfaceIndex);
    }

    /** A pcap file of a link type, byte by byte, with times in microseconds. */
    static byte[] pcap(int link, Frame... frames) {
        int size = 24;
        for (Frame frame : frames) {
            size += 16 + frame.bytes().remaining();
        }
        ByteBuffer file = ByteBuffer.allocate(size)
                .putInt(0xa1b2c3d4)
                .putShort((short) 2)
                .putShort((short) 4)
                .putLong(0)
                .putInt(65535)
                .putInt(link);
        for (Frame frame : frames) {
            file.putInt((int) frame.time().getEpochSecond())
                    .putInt(frame.time().getNano() / 1000)
                    .putInt(frame.bytes().remaining())
                    .putInt(frame.length())
                    .put(frame.bytes().duplicate());
        }
        return file.array();
    }

    static Frame frame(byte[] bytes) {
        return new Frame(TIME, bytes.length, ByteBuffer.wrap(bytes));
    }

    /** As it is when only so many bytes were kept. */
    static Frame snapped(Frame frame, int length) {
        return new Frame(frame.time(), frame.length(), frame.bytes().slice(0, length));
    }
}
