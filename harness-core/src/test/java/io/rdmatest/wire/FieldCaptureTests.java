package io.rdmatest.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.wire.Packets.Roce;
import io.rdmatest.wire.WireReport.Congestion;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Captures as operators send them: cut anywhere, of one direction, without checksums. What is right in them must not be called a
 * violation, what is wrong in them must, and what can't be told is counted.
 */
class FieldCaptureTests {

    private static final int QP_A = 0x11;
    private static final int QP_B = 0x22;

    @TempDir
    private Path folder;

    private static Roce fromA(int opcode, int psn) {
        return Packets.roce(opcode).qp(QP_B).psn(psn & 0xffffff);
    }

    private static Roce fromB(int opcode, int psn) {
        return Packets.roce(opcode)
                .between(Packets.B, Packets.A)
                .mac(Packets.MAC_A)
                .qp(QP_A)
                .psn(psn & 0xffffff);
    }

    private static Roce send(int psn) {
        return fromA(0x04, psn).payload(100);
    }

    private static Roce ack(int psn) {
        return fromB(0x11, psn).aeth(0, 1);
    }

    private static Roce writeFirst(int psn) {
        return fromA(0x06, psn).reth(0, 0, 2048).payload(1024);
    }

    private static Roce writeLast(int psn) {
        return fromA(0x08, psn).payload(1024);
    }

    private static Roce cm(int attribute, long transaction, boolean fromClient, int queuePair, int psn) {
        ByteBuffer data = Packets.data().putInt(0, fromClient ? 0xa0a0 : 0xb0b0);
        switch (attribute) {
            case 0x10 ->
                data.putLong(8, 0x0106_1c06L)
                        .putInt(32, queuePair << 8)
                        .putInt(44, psn << 8)
                        .put(50, (byte) 0x30);
            case 0x13 -> data.putInt(4, 0xa0a0).putInt(12, queuePair << 8).putInt(20, psn << 8);
            default -> data.putInt(4, fromClient ? 0xb0b0 : 0xa0a0).putInt(8, queuePair << 8);
        }
        Roce message = Packets.cm(attribute, transaction, data);
        return fromClient ? message : message.between(Packets.B, Packets.A).mac(Packets.MAC_A);
    }

    private static List<Roce> connected(int qpA, int qpB, int psnA, int psnB) {
        return List.of(cm(0x10, 1, true, qpA, psnB), cm(0x13, 1, false, qpB, psnA), cm(0x14, 1, true, 0, 0));
    }

    private WireReport judge(Roce... packets) throws IOException {
        return judge(Stream.of(packets).map(Roce::frame).toList());
    }

    private WireReport judge(List<Frame> frames) throws IOException {
        Path file = folder.resolve("field.pcap");
        LinkType link = frames.isEmpty() ? LinkType.ETHERNET : frames.getFirst().link();
        Files.write(
                file,
                Packets.pcap(
                        switch (link) {
                            case ETHERNET -> 1;
                            case RAW -> 101;
                            case LINUX_SLL -> 113;
                            case IPV4 -> 228;
                            case IPV6 -> 229;
                            case LINUX_SLL2 -> 276;
                        },
                        frames.toArray(Frame[]::new)));
        return WireJudge.judge(file);
    }

    private static void requireClean(WireReport report) {
        assertThat(report.violations()).as(report.text()).isEmpty();
        assertThat(report.judged()).as(report.text()).isPositive();
    }

    private static void requireViolation(WireReport report, String what) {
        assertThat(report.violations())
                .as(report.text())
                .singleElement()
                .asString()
                .contains(what);
    }

    // ---- cut ----

    @Test
    void aCaptureThatIsCutAtBothEnds() throws IOException {
        WireReport report = judge(
                // The answer to what was before, also a read's.
                ack(99),
                fromB(0x0f, 98).aeth(0, 1).payload(1024),
                // In the middle of a message.
                writeLast(100),
                ack(100),
                send(101),
                ack(101),
                // Cut before the answer, and within a message.
                send(102),
                writeFirst(103));

        requireClean(report);
        assertThat(report.notJudged())
                .as(report.text())
                .containsEntry(NotJudged.UNKNOWN_REQUEST, 2L)
                .containsEntry(NotJudged.UNANSWERED, 2L)
                .hasSize(2);
        assertThat(report.text()).contains("not judged: 2 answers whose requests are not in the capture");
    }

    @Test
    void theEndOfAConnectionThatWasMadeBefore() throws IOException {
        WireReport report =
                judge(cm(0x14, 1, true, 0, 0), send(7), ack(7), cm(0x15, 2, true, QP_B, 0), cm(0x16, 2, false, 0, 0));

        requireClean(report);
        assertThat(report.notJudged()).as(report.text()).containsEntry(NotJudged.PARTIAL_HANDSHAKE, 3L);
    }

    @Test
    void repliesToRequestsThatWereNotCaptured() throws IOException {
        WireReport report = judge(cm(0x13, 1, false, QP_B, 7), cm(0x14, 1, true, 0, 0), send(7), ack(7));

        requireClean(report);
        assertThat(report.notJudged()).as(report.text()).containsEntry(NotJudged.PARTIAL_HANDSHAKE, 2L);
    }

    @Test
    void theBeginOfAConnectionThatGoesOnBehindTheCapture() throws IOException {
        WireReport report = judge(cm(0x10, 1, true, QP_A, 5), cm(0x13, 1, false, QP_B, 7));

        requireClean(report);
        assertThat(report.notJudged()).as(report.text()).containsEntry(NotJudged.PARTIAL_HANDSHAKE, 1L);
    }

    @Test
    void packetsThatTheCaptureLacks() throws IOException {
        // 3 and 4 were acknowledged: they were on the wire, and the capturing host could not keep up.
        WireReport report = judge(send(1), send(2), writeLast(5), send(6), ack(6));

        requireClean(report);
        assertThat(report.notJudged())
                .as(report.text())
                .containsEntry(NotJudged.MISSING, 2L)
                .hasSize(1);
    }

    @Test
    void anAnswerThatWasCapturedBeforeItsRequest() throws IOException {
        requireClean(judge(send(1), ack(1), ack(2), send(2), send(3), ack(3)));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 100})
    void aCaptureThatWasCutShortByAKill(int missing) throws IOException {
        Path file = folder.resolve("killed.pcap");
        byte[] all = Packets.pcap(1, send(1).frame(), ack(1).frame(), send(2).frame());
        Files.write(file, Arrays.copyOf(all, all.length - missing));

        WireReport report = WireJudge.judge(file);
        requireClean(report);
        assertThat(report.packets()).isEqualTo(2);
        assertThat(report.observations())
                .singleElement()
                .asString()
                .contains("the capture is not complete: the file ends inside packet 3: its writer was killed");
    }

    @Test
    void packetsOfWhichOnlyTheHeadersWereKept() throws IOException {
        WireReport report = judge(List.of(
                Packets.snapped(writeFirst(1).frame(), 96),
                Packets.snapped(writeLast(2).frame(), 60),
                Packets.snapped(ack(2).frame(), 60),
                Packets.snapped(writeFirst(3).frame(), 60)));

        requireClean(report);
        assertThat(report.notJudged())
                .as(report.text())
                .containsEntry(NotJudged.CUT_PACKET, 3L)
                .containsEntry(NotJudged.CUT_HEADERS, 1L)
                .hasSize(2);
        assertThat(report.judged()).isEqualTo(3);
    }

    /** A mirror port truncates, and the capture calls what came the length on the wire. */
    @Test
    void packetsThatAMirrorCut() throws IOException {
        byte[] cut = new byte[96];
        writeFirst(1).frame().bytes().get(0, cut);
        byte[] headers = new byte[50];
        writeFirst(2).frame().bytes().get(0, headers);

        WireReport report = judge(List.of(Packets.frame(cut), Packets.frame(headers)));
        requireClean(report);
        assertThat(report.notJudged())
                .as(report.text())
                .containsEntry(NotJudged.CUT_PACKET, 1L)
                .containsEntry(NotJudged.CUT_HEADERS, 1L);
    }

    // ---- one direction ----

    @Test
    void onlyTheRequests() throws IOException {
        WireReport report = judge(send(1), send(2), send(3));

        requireClean(report);
        assertThat(report.notJudged()).as(report.text()).containsExactly(Map.entry(NotJudged.ONE_SIDED, 3L));
    }

    @Test
    void onlyTheAnswers() throws IOException {
        WireReport report = judge(ack(1), ack(2), fromB(0x10, 3).aeth(0, 1).payload(8));

        requireClean(report);
        assertThat(report.notJudged()).as(report.text()).containsExactly(Map.entry(NotJudged.UNKNOWN_REQUEST, 3L));
    }

    @Test
    void onlyOneSideOfTheCommunicationManager() throws IOException {
        WireReport report =
                judge(cm(0x10, 1, true, QP_A, 5), cm(0x14, 1, true, 0, 0), send(7), cm(0x15, 2, true, QP_B, 0));

        requireClean(report);
        assertThat(report.notJudged()).as(report.text()).containsKey(NotJudged.PARTIAL_HANDSHAKE);
    }

    // ---- how it was captured ----

    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void aCaptureOfEveryInterface(int interfaceIndex) throws IOException {
        InetAddress group = InetAddress.ofLiteral("239.77.0.1");
        Roce datagram = Packets.roce(0x64)
                .between(Packets.A, group)
                .qp(0xffffff)
                .deth(1, 5)
                .payload(20);
        WireReport report = judge(List.of(
                Packets.cooked(send(1), interfaceIndex),
                Packets.cooked(ack(1), interfaceIndex),
                Packets.cooked(datagram, interfaceIndex)));

        requireClean(report);
        assertThat(report.judged()).isEqualTo(3);
        assertThat(report.flows().getFirst().acknowledged()).isEqualTo(1);
        assertThat(report.notJudged()).as(report.text()).containsExactly(Map.entry(NotJudged.NO_ETHERNET_ADDRESS, 1L));
    }

    /** A bond and its port: each packet twice. */
    @Test
    void aPacketThatWasCapturedOnTwoInterfaces() throws IOException {
        List<Frame> frames = new ArrayList<>();
        for (Roce each : List.of(send(1), ack(1), send(2), ack(2))) {
            frames.add(Packets.cooked(each, 2));
            frames.add(Packets.cooked(each, 5));
        }
        WireReport report = judge(frames);

        requireClean(report);
        assertThat(report.retransmissions()).isZero();
        assertThat(report.judged()).isEqualTo(4);
        assertThat(report.notJudged()).as(report.text()).containsExactly(Map.entry(NotJudged.DUPLICATE, 4L));
    }

    @Test
    void aCaptureOfIpPackets() throws IOException {
        byte[] ip = send(1).ip();
        for (LinkType link : List.of(LinkType.RAW, LinkType.IPV4)) {
            WireReport report = judge(List.of(new Frame(Packets.TIME, ip.length, ByteBuffer.wrap(ip), link, -1)));
            requireClean(report);
        }
    }

    private static byte[] hex(String bytes) {
        return HexFormat.of().parseHex(bytes.replace(" ", ""));
    }

    private static byte[] udp(int port, byte[] header, int inside) {
        return ByteBuffer.allocate(8 + header.length)
                .putShort((short) 0xc123)
                .putShort((short) port)
                .putShort((short) (8 + header.length + inside))
                .putShort((short) 0)
                .put(header)
                .array();
    }

    private static Frame labeled(String labels, byte[] inside) {
        return Packets.behind(Packets.bytes(Packets.behind(Packets.ethernetHeader(0x8847), hex(labels))), inside);
    }

    private static Frame tunneled(String kind, Roce packet) {
        byte[] ip = packet.ip();
        byte[] ethernet = Packets.bytes(packet.frame());
        return switch (kind) {
            case "ERSPAN type I" -> Packets.tunnel(47, hex("0000 88be"), ethernet);
            case "ERSPAN type II" -> Packets.tunnel(47, hex("1000 88be 00000007 1001 0002 00000003"), ethernet);
            case "ERSPAN type III" ->
                Packets.tunnel(47, hex("1000 22eb 00000007 2001 0002 00000003 00000000"), ethernet);
            case "ERSPAN type III of a platform" ->
                Packets.tunnel(47, hex("1000 22eb 00000007 2001 0002 00000003 00000001 00000000 00000000"), ethernet);
            case "GRE with a key and a checksum" -> Packets.tunnel(47, hex("a000 0800 12340000 00000005"), ip);
            case "NVGRE" -> Packets.tunnel(47, hex("2000 6558 00001001"), ethernet);
            case "IP" -> Packets.tunnel(4, new byte[0], ip);
            case "VXLAN" -> Packets.tunnel(17, udp(4789, hex("08000000 00000a00"), ethernet.length), ethernet);
            case "Geneve with an option" ->
                Packets.tunnel(17, udp(6081, hex("0100 6558 00000a00 00000000"), ethernet.length), ethernet);
            case "MPLS" -> labeled("00010040 00020140", ip);
            case "MPLS with Ethernet" -> labeled("00020140 00000000", ethernet);
            default -> throw new IllegalArgumentException(kind);
        };
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "ERSPAN type I",
                "ERSPAN type II",
                "ERSPAN type III",
                "ERSPAN type III of a platform",
                "GRE with a key and a checksum",
                "NVGRE",
                "IP",
                "VXLAN",
                "Geneve with an option",
                "MPLS",
                "MPLS with Ethernet"
            })
    void aPacketInsideATunnelIsJudged(String kind) throws IOException {
        WireReport report = judge(List.of(
                tunneled(kind, send(1)), tunneled(kind, ack(1)), tunneled(kind, send(2)), tunneled(kind, ack(2))));

        requireClean(report);
        assertThat(report.judged()).isEqualTo(4);
        assertThat(report.notJudged()).as(report.text()).isEmpty();
        assertThat(report.flows().getFirst().source()).isEqualTo(Packets.A);
        assertThat(report.flows().getFirst().acknowledged()).isEqualTo(2);

        requireViolation(
                judge(List.of(tunneled(kind, send(1)), tunneled(kind, send(2).damaged()))), "checksum is wrong");
    }

    @Test
    void aTunnelThatIsNotDecodedIsCounted() throws IOException {
        Frame encrypted = Packets.tunnel(50, new byte[8], new byte[60]);
        Frame other = Packets.tunnel(47, hex("0000 880b"), new byte[60]);
        Frame garbage = Packets.tunnel(17, udp(4789, new byte[1], 0), new byte[0]);
        Frame deep = send(1).frame();
        for (int i = 0; i < 500; i++) {
            byte[] inside = Packets.bytes(deep);
            deep = Packets.tunnel(4, new byte[0], Arrays.copyOfRange(inside, 14, inside.length));
        }

        WireReport report = judge(List.of(send(1).frame(), encrypted, other, garbage, deep));

        requireClean(report);
        assertThat(report.judged()).isEqualTo(1);
        assertThat(report.notJudged()).as(report.text()).containsEntry(NotJudged.TUNNEL, 4L);
        assertThat(report.text()).contains("editcap -C OFFSET:LENGTH");
    }

    /** Packets that take several paths overtake each other, also the one that happens to be captured first. */
    @Test
    void theFirstPacketOfTheFileIsNotTheFirstOfTheConnection() throws IOException {
        WireReport report = judge(
                fromA(0x07, 101).payload(1024),
                fromA(0x06, 100).reth(0, 0, 3072).payload(1024),
                fromA(0x08, 102).payload(1024),
                ack(102));

        requireClean(report);
        assertThat(report.retransmissions()).as(report.text()).isZero();
        assertThat(report.notJudged()).as(report.text()).containsExactly(Map.entry(NotJudged.BEFORE_FIRST, 1L));
        assertThat(judge(send(101), send(100), send(100), ack(101)).retransmissions())
                .as("the second time it is sent again")
                .isEqualTo(1);
    }

    /** A sender that numbers its IP packets gives a retransmission another number. A copy has the same one. */
    @Test
    void packetsThatTheNetworkDoubles() throws IOException {
        WireReport report = judge(
                send(1).identification(10),
                send(2).identification(11),
                send(2).identification(11),
                send(2).identification(12),
                ack(2).identification(70),
                ack(2).identification(70));

        requireClean(report);
        assertThat(report.retransmissions()).as(report.text()).isEqualTo(1);
        assertThat(report.flows().getFirst().requests()).isEqualTo(3);
        assertThat(report.observations())
                .as(report.text())
                .contains(
                        "10.77.0.1→10.77.0.2: 1 packets came twice with one IP identification: the network doubled them");
    }

    @Test
    void packetsWithTwoTags() throws IOException {
        WireReport report = judge(send(1).tagged(100, 7), ack(1).tagged(100, 7));

        requireClean(report);
        assertThat(report.judged()).isEqualTo(2);
        assertThat(report.notJudged()).isEmpty();
    }

    // ---- what the packets are ----

    @Test
    void fragments() throws IOException {
        List<Frame> frames = new ArrayList<>(writeFirst(1).fragments());
        frames.addAll(writeLast(2).fragments());
        frames.add(ack(2).frame());
        WireReport report = judge(frames);

        requireClean(report);
        assertThat(report.flows().getFirst().acknowledged()).isEqualTo(2);
        assertThat(report.notJudged()).as(report.text()).containsExactly(Map.entry(NotJudged.FRAGMENT, 4L));
    }

    @Test
    void theFirstVersionOfRoce() throws IOException {
        WireReport report = judge(List.of(send(1).frameOfV1(), send(2).tagged(7).frameOfV1()));

        requireClean(report);
        assertThat(report.opcodes()).containsEntry("RC SEND_ONLY", 2L);
        assertThat(report.flows().getFirst().source()).isEqualTo(Packets.A6);
        assertThat(report.notJudged())
                .as(report.text())
                .containsEntry(NotJudged.ROCE_V1, 2L)
                .containsEntry(NotJudged.ONE_SIDED, 2L)
                .hasSize(2);
    }

    @Test
    void aWrongOrderIsOneInTheFirstVersionOfRoceToo() throws IOException {
        requireViolation(
                judge(List.of(send(1).frameOfV1(), writeLast(2).frameOfV1())),
                "continues a WRITE message that was not begun");
    }

    /** Captured on the host that sends, before its adapter computes them: zero, or what was there before. */
    @Test
    void checksumsThatTheAdapterComputes() throws IOException {
        WireReport report = judge(send(1).unsealed(), ack(1), send(2).damaged(), ack(2), send(3).unsealed(), ack(3));

        requireClean(report);
        assertThat(report.judged()).isEqualTo(6);
        assertThat(report.notJudged()).as(report.text()).containsExactly(Map.entry(NotJudged.NO_CHECKSUM, 3L));
    }

    @Test
    void aWrongChecksumOfAHostWhoseOthersAreRight() throws IOException {
        requireViolation(judge(send(1), ack(1), send(2).damaged()), "invariant checksum is wrong");
    }

    @Test
    void congestionIsCounted() throws IOException {
        WireReport report = judge(List.of(
                send(1).trafficClass(0x68 | 3).frame(),
                // Able to be marked, but not marked.
                send(2).trafficClass(0x68 | 2).frame(),
                Packets.roce(0x04)
                        .between(Packets.A6, Packets.B6)
                        .psn(1)
                        .trafficClass(3)
                        .payload(8)
                        .frame(),
                ack(2).frame(),
                fromB(0x81, 0).payload(16).frame(),
                Packets.pause(0xffff),
                Packets.pause(0),
                Packets.pause(0, 0, 0, 100, 0, 0, 0, 0),
                Packets.pause(0, 0, 0, 0, 0, 0, 0, 0)));

        requireClean(report);
        assertThat(report.congestion()).isEqualTo(new Congestion(2, 1, 1, 1));
        assertThat(report.text())
                .contains("congestion: 2 packets marked (ECN CE), 1 CNPs, 1 pause frames, 1 PFC frames");
    }

    @Test
    void aPacketTellsItsServiceClass() {
        RocePacket packet = (RocePacket) send(1).trafficClass(0x68 | 2).decoded();
        assertThat(packet.dscp()).isEqualTo(26);
        assertThat(packet.isCongestionMarked()).isFalse();
    }

    // ---- queue pair numbers that are used again ----

    @Test
    void twoConnectionsOfWhichTheSecondIsMadeByTheCommunicationManager() throws IOException {
        List<Roce> packets = new ArrayList<>(List.of(send(900), ack(900)));
        packets.addAll(connected(QP_A, QP_B, 7, 5));
        packets.addAll(List.of(send(7), ack(7)));

        WireReport report = judge(packets.toArray(Roce[]::new));
        requireClean(report);
        assertThat(report.flows()).extracting(WireReport.Flow::acknowledged).containsExactly(1L, 1L);
        assertThat(report.retransmissions()).isZero();
    }

    /** Without its messages: minutes later, in the middle of a message of another kind, with another path MTU and queue pair. */
    @ParameterizedTest
    @ValueSource(ints = {50, 99, 5000, 0x700000, 0xf00000})
    void twoConnectionsOfWhichNothingIsKnown(int psn) throws IOException {
        WireReport report = judge(
                writeFirst(100),
                writeLast(101),
                ack(101),
                fromA(0x01, psn).payload(256).after(120),
                fromA(0x02, psn + 1).payload(8).after(120),
                Packets.roce(0x11)
                        .between(Packets.B, Packets.A)
                        .qp(0x33)
                        .psn(psn + 1)
                        .aeth(0, 1)
                        .after(120));

        requireClean(report);
    }

    @Test
    void aConnectionOfWhichTheNumbersBeginAnew() throws IOException {
        WireReport report = judge(
                send(100),
                send(101),
                ack(101),
                // The same program again, with the same numbers.
                send(100).after(5),
                send(101).after(5),
                ack(101).after(5),
                writeFirst(102).after(5),
                writeLast(103).after(5),
                ack(103).after(5));

        requireClean(report);
        assertThat(report.retransmissions()).isZero();
        assertThat(report.notJudged()).as(report.text()).containsExactly(Map.entry(NotJudged.RESTARTED, 1L));
        assertThat(report.flows()).extracting(WireReport.Flow::acknowledged).containsExactly(2L, 4L);
    }

    @Test
    void aSecondConnectionRightAwayInTheMiddleOfAMessage() throws IOException {
        // It is not to be told from packets that are sent again, up to where it goes beyond the first one.
        requireClean(judge(
                send(100),
                send(101),
                fromA(0x06, 100).reth(0, 0, 4096).payload(1024),
                fromA(0x07, 101).payload(1024),
                fromA(0x07, 102).payload(1024),
                fromA(0x08, 103).payload(1024),
                ack(103)));
    }

    @Test
    void anExchangeWhoseNumberIsUsedAgain() throws IOException {
        List<Roce> packets = new ArrayList<>(connected(QP_A, QP_B, 7, 5));
        packets.add(cm(0x15, 2, true, QP_B, 0));
        // Of another connection, whose request was not captured.
        packets.add(cm(0x13, 9, false, 0x44, 7));
        packets.add(cm(0x14, 9, true, 0, 0));

        requireClean(judge(packets.toArray(Roce[]::new)));
    }

    // ---- nothing to judge ----

    @Test
    void noRoceAtAll() throws IOException {
        WireReport report = judge(
                List.of(Packets.ethernetIp(Packets.MAC_B, Packets.A, Packets.B, 6, new byte[20]), Packets.pause(1)));

        assertThat(report.judged()).isZero();
        assertThat(report.packets()).isEqualTo(2);
        assertThat(report.violations()).isEmpty();
        assertThat(report.text()).contains("2 packets, 0 violations, 0 packets judged", "nothing was judged");
        assertThat(judge(List.of()).judged()).isZero();
    }

    /** An answer of DNS to somebody whose port happens to be 4791. */
    @Test
    void anotherProtocolOnThePortOfRoce() throws IOException {
        byte[] name = ByteBuffer.allocate(8 + 30)
                .putShort((short) 53)
                .putShort((short) 4791)
                .putShort((short) 38)
                .putShort((short) 0x1234)
                .putInt(0x1f2f_8180)
                .array();
        byte[] tiny = ByteBuffer.allocate(8 + 4)
                .putShort((short) 53)
                .putShort((short) 4791)
                .putShort((short) 12)
                .array();
        InetAddress server = InetAddress.ofLiteral("192.0.2.53");
        WireReport report = judge(List.of(
                Packets.ethernetIp(Packets.MAC_B, server, Packets.B, 17, name),
                Packets.ethernetIp(Packets.MAC_B, server, Packets.B, 17, tiny)));

        assertThat(report.violations()).isEmpty();
        assertThat(report.judged()).isZero();
        assertThat(report.notJudged()).as(report.text()).containsEntry(NotJudged.NOT_ROCE, 2L);
    }

    @Test
    void aManufacturersOperation() throws IOException {
        WireReport report = judge(fromA(0xc4, 1).payload(8), send(1));

        requireClean(report);
        assertThat(report.notJudged()).containsEntry(NotJudged.OTHER_OPERATION, 1L);
    }

    // ---- what is wrong, wherever the capture begins and ends ----

    @Test
    void anUndefinedOperationOfASenderOfRoce() throws IOException {
        requireViolation(judge(send(1), fromA(0x1f, 2)), "its operation code is not defined");
    }

    @Test
    void aMalformedPacketOfASenderOfRoce() throws IOException {
        requireViolation(judge(send(1), Packets.roce(0x0c)), "too short for RC RDMA_READ_REQUEST");
    }

    @Test
    void aMessageThatGoesOnAsAnother() throws IOException {
        requireViolation(
                judge(writeFirst(1), fromA(0x02, 2).payload(8)), "continues a SEND message that was not begun");
    }

    @Test
    void aMessageThatIsNotFinished() throws IOException {
        requireViolation(judge(writeFirst(1), send(2)), "begins before the last packet of the WRITE message");
    }

    @Test
    void aPacketOfAnotherSizeWithinItsMessage() throws IOException {
        requireViolation(
                judge(writeFirst(1), fromA(0x07, 2).payload(512), writeLast(3)), "should have the path MTU of 1024");
    }

    @Test
    void anotherStartThanWasAgreedJustNow() throws IOException {
        List<Roce> packets = new ArrayList<>(connected(QP_A, QP_B, 7, 5));
        packets.add(send(6));
        requireViolation(judge(packets.toArray(Roce[]::new)), "is before the agreed starting PSN of 7");
    }

    @Test
    void aDisconnectionOfAnotherQueuePair() throws IOException {
        List<Roce> packets = new ArrayList<>(connected(QP_A, QP_B, 7, 5));
        packets.add(cm(0x15, 2, true, QP_B + 1, 0));
        requireViolation(judge(packets.toArray(Roce[]::new)), "names another queue pair");
    }

    @Test
    void aGroupByAnotherEthernetAddress() throws IOException {
        Roce datagram = Packets.roce(0x64)
                .between(Packets.A, InetAddress.ofLiteral("239.77.0.1"))
                .mac(0x0100_5e4d_0002L)
                .qp(0xffffff)
                .deth(1, 5)
                .payload(20);
        requireViolation(judge(datagram), "goes to the Ethernet address 01:00:5e:4d:00:02");
    }

    @Test
    void anAnswerWithDataThatIsNegative() throws IOException {
        requireViolation(judge(fromB(0x10, 3).aeth(0x62, 1).payload(8)), "has data, but is a negative acknowledgement");
    }
}
