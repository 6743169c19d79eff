package io.rdmatest.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.wire.Packets.Roce;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;

class WireJudgeTests {

    private static final int QP_A = 0x11;
    private static final int QP_B = 0x22;
    private static final int ID_A = 0xa0a0;
    private static final int ID_B = 0xb0b0;
    private static final int PSN_A = 0xfffffe;
    private static final int PSN_B = 500;
    private static final int ACK = 0;
    private static final InetAddress GROUP = InetAddress.ofLiteral("239.77.0.1");

    private final WireJudge judge = new WireJudge();

    private WireReport judge(Roce... packets) {
        for (Roce packet : packets) {
            judge.accept(packet.decoded());
        }
        return judge.finish();
    }

    private WireReport judge(List<Roce> first, Roce... packets) {
        first.forEach(packet -> judge.accept(packet.decoded()));
        return judge(packets);
    }

    // ---- the packets of one connection ----

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
        return answer(psn, ACK);
    }

    private static Roce answer(int psn, int syndrome) {
        return fromB(0x11, psn).aeth(syndrome, 1);
    }

    private static Roce request(int queuePair, int psn) {
        return request(queuePair, psn, 14);
    }

    private static Roce request(int queuePair, int psn, int ackTimeout) {
        ByteBuffer data = Packets.data();
        data.putInt(0, ID_A).putLong(8, 0x0106_1c06L).putInt(32, queuePair << 8).putInt(44, psn << 8);
        // 7 retries: with an ACK timeout of 14 (67 ms) a request is repeated for up to 2.1 s.
        return Packets.cm(0x10, 1, data.put(47, (byte) 7).put(50, (byte) 0x30).put(95, (byte) (ackTimeout << 3)));
    }

    private static Roce reply(int queuePair, int psn) {
        ByteBuffer data = Packets.data();
        data.putInt(0, ID_B).putInt(4, ID_A).putInt(12, queuePair << 8).putInt(20, psn << 8);
        return Packets.cm(0x13, 1, data).between(Packets.B, Packets.A).mac(Packets.MAC_A);
    }

    private static Roce ready() {
        return Packets.cm(0x14, 1, Packets.data().putInt(0, ID_A).putInt(4, ID_B));
    }

    private static Roce disconnect(int queuePair) {
        ByteBuffer data = Packets.data();
        return Packets.cm(0x15, 2, data.putInt(0, ID_A).putInt(4, ID_B).putInt(8, queuePair << 8));
    }

    private static Roce disconnected() {
        return Packets.cm(0x16, 2, Packets.data().putInt(0, ID_B).putInt(4, ID_A))
                .between(Packets.B, Packets.A)
                .mac(Packets.MAC_A);
    }

    private static List<Roce> connected() {
        return List.of(request(QP_A, PSN_B), reply(QP_B, PSN_A), ready());
    }

    // ---- what is well ----

    @Test
    void aConnectionFromItsBeginToItsEndIsClean() {
        WireReport report = judge(
                connected(),
                send(PSN_A),
                // Three packets of 1024 bytes: 0xffffff, 0, 1.
                fromA(0x06, PSN_A + 1).reth(0, 0, 2500).payload(1024),
                fromA(0x07, PSN_A + 2).payload(1024),
                ack(PSN_A),
                fromA(0x08, PSN_A + 3).payload(452),
                ack(PSN_A + 3),
                // A read of three packets, whose answer is its acknowledgement.
                fromA(0x0c, PSN_A + 4).reth(0, 0, 3000),
                fromB(0x0d, PSN_A + 4).aeth(ACK, 2).payload(1024),
                fromB(0x0e, PSN_A + 5).payload(1024),
                fromB(0x0f, PSN_A + 6).aeth(ACK, 2).payload(952),
                // The other side sends, too.
                fromB(0x04, PSN_B).payload(8),
                Packets.roce(0x11).qp(QP_B).psn(PSN_B).aeth(ACK, 1),
                fromA(0x14, PSN_A + 7).headers(new byte[28]),
                fromB(0x12, PSN_A + 7).headers(new byte[12]),
                disconnect(QP_B),
                disconnected());

        assertThat(report.violations()).isEmpty();
        assertThat(report.observations()).isEmpty();
        assertThat(report.isClean()).isTrue();
        assertThat(report.packets()).isEqualTo(19);
        assertThat(report.opcodes()).containsEntry("RC RDMA_READ_REQUEST", 1L).containsEntry("UD SEND_ONLY", 5L);
        assertThat(report.flows()).hasSize(2);
        WireReport.Flow flow = report.flows().getFirst();
        assertThat(flow.destinationQp()).isEqualTo(QP_B);
        assertThat(flow.requests()).isEqualTo(6);
        assertThat(flow.sent()).isEqualTo(8);
        assertThat(flow.acknowledged()).isEqualTo(8);
        assertThat(flow.responses()).isEqualTo(6);
        assertThat(report.handshakes()).hasSize(1);
        assertThat(report.handshakes().getFirst().sequence()).isEqualTo("REQ REP RTU DREQ DREP");
        assertThat(report.text()).contains("19 packets, 0 violations", "REQ REP RTU DREQ DREP", "8 of 8 PSNs");
        report.requireClean();
    }

    @Test
    void aConnectionWithoutAHandshakeIsFoundByItsNumbers() {
        WireReport report = judge(
                send(7),
                send(8),
                ack(8),
                send(9),
                ack(9),
                fromB(0x04, 90),
                fromA(0x11, 90).aeth(ACK, 1));

        assertThat(report.violations()).isEmpty();
        assertThat(report.observations()).isEmpty();
        assertThat(report.flows()).extracting(WireReport.Flow::acknowledged).containsExactly(3L, 1L);
    }

    @Test
    void retransmissionsAreObserved() {
        WireReport report = judge(
                connected(),
                send(PSN_A),
                send(PSN_A + 1),
                answer(PSN_A, 0x60),
                send(PSN_A),
                send(PSN_A + 1),
                ack(PSN_A + 1));

        assertThat(report.violations()).isEmpty();
        assertThat(report.retransmissions()).isEqualTo(2);
        assertThat(report.flows().getFirst().naks()).containsEntry("NAK: PSN sequence error", 1L);
        assertThat(report.observations())
                .hasSize(2)
                .anyMatch(each -> each.contains("2 of 4 request packets were retransmitted"));
    }

    @Test
    void aGapThatIsFilledIsObserved() {
        WireReport report =
                judge(connected(), send(PSN_A), send(PSN_A + 3), send(PSN_A + 2), send(PSN_A + 1), ack(PSN_A + 3));

        assertThat(report.violations()).isEmpty();
        assertThat(report.observations())
                .singleElement()
                .asString()
                .contains("1 gaps in the packet sequence; 2 packets arrived late");
    }

    @Test
    void requestsOfAConnectionThatIsTakenDownMayStayWithoutAnswer() {
        WireReport report = judge(connected(), send(PSN_A), disconnect(QP_B), disconnected());

        assertThat(report.violations()).isEmpty();
        assertThat(report.observations()).singleElement().asString().contains("1 of 1 PSNs were not acknowledged");
    }

    @Test
    void nothingIsMissedInACaptureThatIsNotComplete() {
        judge.incomplete("a test");
        WireReport report = judge(connected(), send(PSN_A), send(PSN_A + 5));

        assertThat(report.violations()).isEmpty();
        assertThat(report.observations())
                .anyMatch(each -> each.contains("not complete: a test"))
                .anyMatch(each -> each.contains("is missing"));
    }

    @Test
    void lossOfAnUnreliableConnectionIsObserved() {
        WireReport report = judge(fromA(0x24, 5), fromA(0x24, 7));

        assertThat(report.violations()).isEmpty();
        assertThat(report.flows().getFirst().lost()).isEqualTo(1);
    }

    // ---- what is not ----

    private static void requireViolation(WireReport report, String what) {
        assertThat(report.isClean()).isFalse();
        assertThat(report.violations()).singleElement().asString().contains(what);
        assertThatThrownBy(report::requireClean)
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining(what);
        assertThat(report.text()).contains("violation: " + report.violations().getFirst());
    }

    @Test
    void aGapThatStays() {
        requireViolation(
                judge(connected(), send(PSN_A), send(PSN_A + 3), ack(PSN_A + 3)), "PSN 16777215 and 1 more is missing");
    }

    @Test
    void anotherStartThanAgreed() {
        requireViolation(
                judge(connected(), send(PSN_A - 1), send(PSN_A), ack(PSN_A)),
                "PSN 16777213: is before the agreed starting PSN of 16777214");
    }

    @Test
    void aRequestWithoutAnswer() {
        requireViolation(
                judge(connected(), send(PSN_A), ack(PSN_A), send(PSN_A + 1)),
                "1 of 2 PSNs were not acknowledged, from PSN 16777215 on");
    }

    @Test
    void aRequestWithoutAnswerOfAConnectionWithoutHandshake() {
        requireViolation(judge(send(1)), "1 of 1 PSNs were not acknowledged");
    }

    @Test
    void aRequestWithoutAnswerLongBeforeTheConnectionIsTakenDown() {
        requireViolation(
                judge(
                        connected(),
                        send(PSN_A),
                        ack(PSN_A),
                        send(PSN_A + 1),
                        send(PSN_A + 2).after(2),
                        disconnect(QP_B).after(3),
                        disconnected().after(3)),
                "2 of 3 PSNs were not acknowledged, from PSN 16777215 on");
    }

    /** The limit is what both sides agreed on: an ACK timeout of 1.1 s and 7 retries are up to 34 s. */
    @Test
    void aRequestThatMayStillBeRepeatedWhenTheConnectionIsTakenDown() {
        WireReport report = judge(
                List.of(request(QP_A, PSN_B, 18), reply(QP_B, PSN_A), ready()),
                send(PSN_A),
                ack(PSN_A),
                send(PSN_A + 1),
                disconnect(QP_B).after(30),
                disconnected().after(30));
        assertThat(report.isClean()).as(report.text()).isTrue();
        assertThat(report.observations()).singleElement().asString().contains("1 of 2 PSNs were not acknowledged");
    }

    @Test
    void aReadWhoseAnswerIsAnAcknowledgementOfWhatFollows() {
        requireViolation(
                judge(connected(), fromA(0x0c, PSN_A).reth(0, 0, 2000), send(PSN_A + 2), ack(PSN_A + 2)),
                "1 reads or atomics were not answered, the first up to PSN 16777215");
    }

    @Test
    void aReadThatIsAnsweredInPart() {
        requireViolation(
                judge(
                        connected(),
                        fromA(0x0c, PSN_A).reth(0, 0, 2000),
                        fromB(0x0d, PSN_A).aeth(ACK, 1).payload(1024)),
                "1 of 2 PSNs were not acknowledged");
    }

    @Test
    void anAnswerToWhatWasNeverSent() {
        requireViolation(
                judge(connected(), send(PSN_A), ack(PSN_A), ack(PSN_A + 1)), "answers a request that was not sent");
    }

    @Test
    void anAnswerToWhatWasNeverSentOnAConnectionWithoutHandshake() {
        requireViolation(judge(send(1), ack(1), ack(2)), "answers a request that was not sent");
    }

    @Test
    void aMessageThatGoesOnWithoutABegin() {
        requireViolation(
                judge(connected(), fromA(0x02, PSN_A).payload(8), ack(PSN_A)),
                "continues a SEND message that was not begun");
    }

    @Test
    void aMessageThatGoesOnAsAnother() {
        requireViolation(
                judge(
                        connected(),
                        fromA(0x00, PSN_A).payload(1024),
                        fromA(0x08, PSN_A + 1).payload(8),
                        ack(PSN_A + 1)),
                "continues a WRITE message that was not begun");
    }

    @Test
    void aMessageThatBeginsBeforeTheOneBeforeIsOver() {
        requireViolation(
                judge(connected(), fromA(0x00, PSN_A).payload(1024), send(PSN_A + 1), ack(PSN_A + 1)),
                "begins before the last packet of the SEND message");
    }

    @Test
    void aPacketOfAnotherSizeThanTheMtu() {
        requireViolation(
                judge(
                        connected(),
                        fromA(0x00, PSN_A).payload(512),
                        fromA(0x02, PSN_A + 1).payload(8),
                        ack(PSN_A + 1)),
                "should have the path MTU of 1024");
    }

    @Test
    void aPacketThatIsLargerThanTheMtu() {
        requireViolation(
                judge(connected(), fromA(0x04, PSN_A).payload(1025), ack(PSN_A)), "more than the path MTU of 1024");
    }

    @Test
    void anAnswerThatGoesOnAfterItsEnd() {
        requireViolation(
                judge(
                        connected(),
                        fromA(0x0c, PSN_A).reth(0, 0, 2000),
                        fromB(0x10, PSN_A).aeth(ACK, 1).payload(1000),
                        fromB(0x0f, PSN_A + 1).aeth(ACK, 1).payload(1000)),
                "continues the response to a read after its last packet");
    }

    @Test
    void aSyndromeWithoutAMeaning() {
        requireViolation(judge(connected(), send(PSN_A), answer(PSN_A, 0x40), ack(PSN_A)), "has a reserved syndrome");
    }

    @Test
    void anUndefinedOperation() {
        requireViolation(judge(Packets.roce(0x1f)), "its operation code is not defined");
    }

    @Test
    void anotherVersion() {
        requireViolation(judge(connected(), send(PSN_A).version(1), ack(PSN_A)), "has version 1, not 0");
    }

    @Test
    void aDamagedPacket() {
        requireViolation(
                judge(connected(), send(PSN_A), ack(PSN_A), send(PSN_A + 1).damaged()), "invariant checksum is wrong");
    }

    @Test
    void aMalformedPacket() {
        // The headers of a read are not there.
        requireViolation(judge(Packets.roce(0x0c)), "too short for RC RDMA_READ_REQUEST");
    }

    @Test
    void aRequestToConnectWithoutAnswer() {
        requireViolation(judge(request(QP_A, 1)), "was never answered");
    }

    @Test
    void aReplyToWhatWasNeverAsked() {
        requireViolation(judge(reply(QP_B, 1)), "answers a request that was not sent");
    }

    @Test
    void aConnectionThatIsNeverReady() {
        requireViolation(judge(request(QP_A, 1), reply(QP_B, 1)), "the reply was not confirmed (no RTU)");
    }

    @Test
    void aConnectionThatIsReadyBeforeTheReply() {
        requireViolation(judge(request(QP_A, PSN_B), ready(), reply(QP_B, PSN_A), ready()), "precedes the reply");
    }

    @Test
    void aDisconnectionOfAnotherQueuePair() {
        requireViolation(judge(connected(), disconnect(QP_B + 1), disconnected()), "names another queue pair");
    }

    @Test
    void aDisconnectionThatNobodyAskedFor() {
        requireViolation(judge(connected(), disconnected()), "DREP ids 0x0000b0b0 0x0000a0a0 answers a request");
    }

    // ---- groups ----

    private static Roce toGroup() {
        return Packets.roce(0x65)
                .between(Packets.A, GROUP)
                .mac(0x0100_5e4d_0001L)
                .qp(0xffffff)
                .headers(ByteBuffer.allocate(12)
                        .putInt(0x0123_4567)
                        .putInt(5)
                        .putInt(5)
                        .array())
                .payload(20);
    }

    private void join() {
        byte[] report = ByteBuffer.allocate(8)
                .putInt(0x1600_0000)
                .put(GROUP.getAddress())
                .array();
        judge.accept(WirePacket.of(Packets.ethernetIp(0x0100_5e4d_0001L, Packets.B, GROUP, 2, report)));
    }

    @Test
    void aGroupWithAMemberIsClean() {
        judge.requireMembers();
        join();
        WireReport report = judge(toGroup(), toGroup());

        assertThat(report.violations()).isEmpty();
        assertThat(report.groups()).containsExactly(new WireReport.Group(GROUP, 2, List.of(Packets.B)));
    }

    @Test
    void aGroupWithoutMembersIsObserved() {
        WireReport report = judge(toGroup());

        assertThat(report.violations()).isEmpty();
        assertThat(report.observations()).singleElement().asString().contains("no host reported membership");
    }

    @Test
    void aGroupWithoutMembersWhereTheyAreRequired() {
        judge.requireMembers();
        requireViolation(judge(toGroup()), "no host reported membership of the group 239.77.0.1");
    }

    @Test
    void aGroupByAnotherEthernetAddress() {
        join();
        requireViolation(
                judge(toGroup().mac(0x0100_5e4d_0002L)),
                "goes to the Ethernet address 01:00:5e:4d:00:02; the group's address is");
    }

    @Test
    void aGroupByAnotherQueuePair() {
        join();
        requireViolation(judge(toGroup().qp(7)), "whose queue pair number must be 0xffffff");
    }

    @Test
    void oneHostByTheEthernetAddressOfAGroup() {
        requireViolation(
                judge(connected(), send(PSN_A).mac(0x0100_5e4d_0001L), ack(PSN_A)), "but to a unicast IP address");
    }
}
