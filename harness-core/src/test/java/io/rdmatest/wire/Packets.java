package io.rdmatest.wire;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.Arrays;
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

        Frame frame() {
            int padding = -payload.length & 3;
            byte[] udp = ByteBuffer.allocate(8 + 12 + headers.length + payload.length + padding + 4)
                    .putShort((short) 0xc001)
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
            byte[] ip = ip(from, to, 17, udp);
            int header = ip.length - udp.length;
            int crc = invariant(ip, header);
            ByteBuffer.wrap(ip).putInt(ip.length - 4, Integer.reverseBytes(crc));
            if (damaged) {
                ip[header + 20]++;
            }
            byte[] bytes = ethernet(mac, tag, ip);
            return new Frame(TIME.plusSeconds(seconds), bytes.length, ByteBuffer.wrap(bytes));
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
        return frame(ethernet(mac, 0, ip(from, to, protocol, payload)));
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

    private static byte[] ethernet(long mac, int tag, byte[] ip) {
        ByteBuffer frame = ByteBuffer.allocate(14 + (tag == 0 ? 0 : 4) + ip.length)
                .putShort((short) (mac >> 32))
                .putInt((int) mac)
                .putShort((short) (MAC_A >> 32))
                .putInt((int) MAC_A);
        if (tag != 0) {
            frame.putShort((short) 0x8100).putShort((short) tag);
        }
        return frame.putShort((short) (ip[0] >> 4 == 4 ? 0x0800 : 0x86dd))
                .put(ip)
                .array();
    }

    static Frame frame(byte[] bytes) {
        return new Frame(TIME, bytes.length, ByteBuffer.wrap(bytes));
    }

    /** As it is when only so many bytes were kept. */
    static Frame snapped(Frame frame, int length) {
        return new Frame(frame.time(), frame.length(), frame.bytes().slice(0, length));
    }
}
