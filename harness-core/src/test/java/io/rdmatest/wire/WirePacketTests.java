package io.rdmatest.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class WirePacketTests {

    private static final InetAddress GROUP = InetAddress.ofLiteral("239.205.1.2");

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aWriteHasItsMemoryAndItsImmediate(boolean six) {
        byte[] headers = ByteBuffer.allocate(20)
                .putLong(0x1122_3344_5566_7788L)
                .putInt(0x0102_0304)
                .putInt(0xffff_fff0)
                .putInt(0xdead_beef)
                .array();
        RocePacket packet = (RocePacket) Packets.roce(0x0b)
                .between(six ? Packets.A6 : Packets.A, six ? Packets.B6 : Packets.B)
                .qp(0xabcdef)
                .psn(0xfffffe)
                .headers(headers)
                .payload(5)
                .decoded();

        assertThat(packet.opcode().name()).isEqualTo("RC RDMA_WRITE_ONLY_WITH_IMMEDIATE");
        assertThat(packet.remoteMemory())
                .isEqualTo(new RocePacket.Reth(0x1122_3344_5566_7788L, 0x0102_0304, 0xffff_fff0L));
        assertThat(packet.immediate()).isEqualTo(0xdead_beefL);
        assertThat(packet.destinationQp()).isEqualTo(0xabcdef);
        assertThat(packet.psn()).isEqualTo(0xfffffe);
        assertThat(packet.acknowledgeRequested()).isTrue();
        assertThat(packet.payloadLength()).isEqualTo(5);
        assertThat(packet.payload().remaining()).isEqualTo(5);
        assertThat(packet.checksum()).isTrue();
        assertThat(packet.source()).isEqualTo(six ? Packets.A6 : Packets.A);
        assertThat(packet.destinationMac()).hasToString("52:54:00:77:00:02");
        assertThat(packet.sourcePort()).isEqualTo(0xc001);
        assertThat(packet.time()).isEqualTo(Packets.TIME);
    }

    /** As soft-RoCE sent it, in a capture of which tshark says the same. */
    @Test
    void aPacketOfADeviceIsUnderstood() {
        byte[] bytes = HexFormat.of()
                .parseHex("5254007700025254007700010800" + "4500003cc38640004011628e0a4d00010a4d0002"
                        + "e0d312b700280000" + "0c00ffff0000001780d0b9ed" + "00007f028401500000000f6e00002710"
                        + "e81c4620");

        RocePacket packet = (RocePacket) WirePacket.of(Packets.frame(bytes));

        assertThat(packet.opcode().name()).isEqualTo("RC RDMA_READ_REQUEST");
        assertThat(packet.psn()).isEqualTo(13679085);
        assertThat(packet.destinationQp()).isEqualTo(0x17);
        assertThat(packet.acknowledgeRequested()).isTrue();
        assertThat(packet.remoteMemory()).isEqualTo(new RocePacket.Reth(0x7f02_8401_5000L, 0xf6e, 10_000));
        assertThat(packet.payloadLength()).isZero();
        assertThat(packet.checksum()).isTrue();
    }

    @Test
    void aPacketBehindATagIsSeen() {
        assertThat(Packets.roce(0x04).tagged(7).payload(8).decoded())
                .isInstanceOfSatisfying(
                        RocePacket.class,
                        packet -> assertThat(packet.checksum()).isTrue());
    }

    @Test
    void aPacketInPartHasItsLengthButNoChecksum() {
        Frame part = Packets.snapped(Packets.roce(0x04).payload(1024).frame(), 128);

        RocePacket packet = (RocePacket) WirePacket.of(part);

        assertThat(packet.payloadLength()).isEqualTo(1024);
        assertThat(packet.payload().remaining()).isEqualTo(128 - 14 - 20 - 8 - 12);
        assertThat(packet.checksum()).isNull();
    }

    @Test
    void oneBitThatChangedIsNoticed() {
        Frame frame = Packets.roce(0x04).payload(64).frame();
        byte[] bytes = new byte[frame.length()];
        frame.bytes().get(0, bytes);
        bytes[70] ^= 1;

        assertThat(((RocePacket) WirePacket.of(Packets.frame(bytes))).checksum())
                .isFalse();
    }

    @Test
    void whatRoutersChangeIsNotInTheChecksum() {
        Frame frame = Packets.roce(0x04).payload(64).frame();
        byte[] bytes = new byte[frame.length()];
        frame.bytes().get(0, bytes);
        // Time to live.
        bytes[14 + 8]--;

        assertThat(((RocePacket) WirePacket.of(Packets.frame(bytes))).checksum())
                .isTrue();
    }

    @ParameterizedTest
    @CsvSource({
        "0x04, RC SEND_ONLY, true, false",
        "0x11, RC ACKNOWLEDGE, false, true",
        "0x10, RC RDMA_READ_RESPONSE_ONLY, false, true",
        "0x17, RC SEND_ONLY_WITH_INVALIDATE, true, false",
        "0x26, UC RDMA_WRITE_FIRST, true, false",
        "0x65, UD SEND_ONLY_WITH_IMMEDIATE, false, false",
        "0xa4, XRC SEND_ONLY, true, false",
        "0x81, CNP, false, false",
        "0x15, 0x15, false, false",
        "0x31, 0x31, false, false",
        "0x60, 0x60, false, false",
        "0x44, 0x44, false, false",
        "0xff, 0xff, false, false",
    })
    void operationsHaveNames(String code, String name, boolean request, boolean response) {
        Opcode opcode = new Opcode(Integer.decode(code));
        assertThat(opcode.name()).isEqualTo(name);
        assertThat(opcode.isRequest()).isEqualTo(request);
        assertThat(opcode.isResponse()).isEqualTo(response);
        assertThat(opcode.isDefined()).isEqualTo(!name.startsWith("0x"));
    }

    @ParameterizedTest
    @CsvSource({
        "0x00, ACK, ACK",
        "0x1f, ACK, ACK",
        "0x2c, RNR_NAK, RNR NAK",
        "0x60, NAK, NAK: PSN sequence error",
        "0x62, NAK, NAK: remote access error",
        "0x7f, NAK, NAK: code 31",
        "0x40, RESERVED, reserved syndrome 0x40"
    })
    void acknowledgementsSayWhatTheyAre(String syndrome, Aeth.Type type, String text) {
        Aeth aeth = new Aeth(Integer.decode(syndrome), 0);
        assertThat(aeth.type()).isEqualTo(type);
        assertThat(aeth.text()).isEqualTo(text);
    }

    @Test
    void aRequestOfTheCommunicationManagerHasItsFields() {
        ByteBuffer data = Packets.data();
        data.putInt(0, 0x1111_2222).putLong(8, 0x0000_0000_0106_1c06L).putInt(32, 0xabcdef << 8);
        data.putInt(44, 0x123456 << 8).put(50, (byte) 0x53);
        data.put(140, (byte) 0).put(140 + 36, "hello".getBytes(StandardCharsets.US_ASCII));

        CmMessage message =
                ((RocePacket) Packets.cm(0x10, 42, data).decoded()).cm().orElseThrow();

        assertThat(message.type()).isEqualTo(CmMessage.Type.REQ);
        assertThat(message.transaction()).isEqualTo(42);
        assertThat(message.localId()).isEqualTo(0x1111_2222);
        assertThat(message.queuePair()).isEqualTo(0xabcdef);
        assertThat(message.startingPsn()).isEqualTo(0x123456);
        assertThat(message.mtu()).isEqualTo(4096);
        assertThat(message.port()).isEqualTo(7174);
        assertThat(message.privateData().remaining()).isEqualTo(92);
        assertThat(message.userPrivateData()).hasSize(56).startsWith("hello".getBytes(StandardCharsets.US_ASCII));
        assertThat(message.text()).contains("REQ", "PSN 1193046", "port 7174", "private data 68656c6c6f");
    }

    @Test
    void aReplyHasItsPrivateDataAsItIs() {
        ByteBuffer data = Packets.data();
        data.putInt(0, 1).putInt(4, 2).putInt(12, 0x77 << 8).putInt(20, 5 << 8).put(36, new byte[] {1, 2, 3});

        CmMessage message =
                ((RocePacket) Packets.cm(0x13, 42, data).decoded()).cm().orElseThrow();

        assertThat(message.type()).isEqualTo(CmMessage.Type.REP);
        assertThat(message.remoteId()).isEqualTo(2);
        assertThat(message.queuePair()).isEqualTo(0x77);
        assertThat(message.startingPsn()).isEqualTo(5);
        assertThat(message.userPrivateData()).hasSize(196).startsWith(1, 2, 3);
        assertThat(message.port()).isEqualTo(-1);
    }

    @Test
    void reportsOfMembersNameTheGroups() {
        byte[] two = ByteBuffer.allocate(8)
                .putInt(0x1600_0000)
                .put(GROUP.getAddress())
                .array();
        byte[] leave = ByteBuffer.allocate(8)
                .putInt(0x1700_0000)
                .put(GROUP.getAddress())
                .array();
        byte[] three = ByteBuffer.allocate(8 + 8 + 12)
                .putInt(0x2200_0000)
                .putInt(2)
                .put(new byte[] {3, 0, 0, 0})
                .put(new byte[] {(byte) 239, 1, 1, 1})
                .put(new byte[] {3, 0, 0, 1})
                .put(GROUP.getAddress())
                .putInt(0)
                .array();

        assertThat(igmp(two).joined()).containsExactly(GROUP);
        assertThat(igmp(leave).left()).containsExactly(GROUP);
        assertThat(igmp(three).joined()).containsExactly(GROUP);
        assertThat(igmp(three).left()).containsExactly(InetAddress.ofLiteral("239.1.1.1"));
        assertThat(igmp(three).sender()).isEqualTo(Packets.B);
    }

    private static MembershipReport igmp(byte[] bytes) {
        return (MembershipReport) WirePacket.of(
                Packets.ethernetIp(0x0100_5e00_0016L, Packets.B, InetAddress.ofLiteral("224.0.0.22"), 2, bytes));
    }

    @Test
    void reportsOfMembersOfVersionSixNameTheGroups() {
        InetAddress group = InetAddress.ofLiteral("ff0e::77:1");
        byte[] report = ByteBuffer.allocate(8 + 8 + 20)
                // Hop by hop: ICMPv6 follows, router alert.
                .put(new byte[] {58, 0, 5, 2, 0, 0, 1, 0})
                .putInt(143 << 24)
                .putInt(1)
                .put(new byte[] {4, 0, 0, 0})
                .put(group.getAddress())
                .array();

        WirePacket packet = WirePacket.of(
                Packets.ethernetIp(0x3333_0000_0016L, Packets.B6, InetAddress.ofLiteral("ff02::16"), 0, report));

        assertThat(packet).isInstanceOfSatisfying(MembershipReport.class, members -> {
            assertThat(members.joined()).containsExactly(group);
            assertThat(members.left()).isEmpty();
        });
    }

    @ParameterizedTest
    @CsvSource({"224.0.0.22, 01:00:5e:00:00:16", "239.205.1.2, 01:00:5e:4d:01:02", "ff0e::77:1, 33:33:00:77:00:01"})
    void groupsHaveTheirEthernetAddress(String group, String mac) {
        assertThat(Mac.ofGroup(InetAddress.ofLiteral(group))).hasToString(mac);
        assertThat(Mac.ofGroup(InetAddress.ofLiteral(group)).isGroup()).isTrue();
    }

    @Test
    void noBytesWhateverBreakTheDecoder() {
        Frame whole = Packets.roce(0x06).reth(1, 2, 3).payload(100).frame();
        for (int length = 0; length < whole.length(); length++) {
            WirePacket part = WirePacket.of(Packets.snapped(whole, length));
            assertThat(part.time()).isEqualTo(Packets.TIME);
            if (part instanceof OtherPacket other) {
                assertThat(other.malformed()).isFalse();
            }
        }
        Random random = new Random(1);
        for (int i = 0; i < 20_000; i++) {
            byte[] bytes = new byte[whole.length()];
            whole.bytes().get(0, bytes);
            for (int j = 0; j < 4; j++) {
                bytes[12 + random.nextInt(60)] = (byte) random.nextInt();
            }
            assertThat(WirePacket.of(Packets.frame(bytes)).time()).isEqualTo(Packets.TIME);
        }
    }
}
