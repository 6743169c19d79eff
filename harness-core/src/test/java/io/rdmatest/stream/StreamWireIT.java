package io.rdmatest.stream;

import static io.rdmatest.stream.StreamFixture.ANY_PORT;
import static io.rdmatest.stream.StreamFixture.SHORT;
import static io.rdmatest.stream.StreamFixture.TIMEOUT;
import static io.rdmatest.stream.StreamFixture.receiveAll;
import static io.rdmatest.stream.StreamFixture.sendSome;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.Closer;
import io.rdmatest.EmptyLedger;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.WholeLedger;
import io.rdmatest.stream.StreamException.Reason;
import io.rdmatest.verbs.WorkCompletion;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The other end is a program of plain verbs that speaks the format byte by byte, written from the description of libfabric's
 * provider and not from the classes under test.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@WholeLedger
@ExtendWith(EmptyLedger.class)
class StreamWireIT {

    private static final StreamOptions OPTIONS = StreamOptions.defaults();

    @Test
    void tellsItsRingInTheRequestAndTakesThePeersFromTheReply() {
        try (WirePeer.Listener listener = new WirePeer.Listener();
                StreamEventQueue events = StreamEventQueue.create();
                StreamEndpoint endpoint = StreamEndpoint.connect(events, null, listener.address(), OPTIONS, TIMEOUT)) {
            try (WirePeer peer = listener.accept(WirePeer.data(1000, 10))) {
                endpoint.awaitConnected(TIMEOUT);
                ByteBuffer request = ByteBuffer.wrap(peer.received);
                assertThat(request.getLong(0)).isNotZero();
                assertThat(request.getLong(8)).isBetween(1L, 0xffff_ffffL);
                assertThat(request.getInt(16)).isEqualTo(32_768);
                assertThat(request.getShort(20)).isEqualTo((short) 384);
                assertThat(request.get(22)).isEqualTo((byte) 2);
                assertThat(request.get(23)).isZero();

                peer.postReceives();
                assertThat(sendSome(endpoint, 0, 300)).isEqualTo(300);
                WorkCompletion completion = peer.awaitReceive();
                assertThat(completion.opcode()).isEqualTo(WorkCompletion.Opcode.RECV_RDMA_WITH_IMM);
                assertThat(completion.immediate()).isZero();
                assertThat(completion.byteLength()).isEqualTo(300);
                peer.assertRing(0, 300, 0);
            }
        }
    }

    /** A ring of 1000 bytes: 700, 700 given back, then 600 that wrap after 300. */
    @Test
    void aWrapSplitsAWriteInTwo() {
        try (Accepted pair = new Accepted(OPTIONS, 1000, 10)) {
            assertThat(sendSome(pair.endpoint, 0, 700)).isEqualTo(700);
            assertThat(pair.peer.awaitReceive().byteLength()).isEqualTo(700);
            pair.peer.sendControl(1 << 20 | 700);
            awaitRoom(pair);
            assertThat(sendSome(pair.endpoint, 700, 600)).isEqualTo(600);
            assertThat(pair.peer.awaitReceive().byteLength()).isEqualTo(300);
            assertThat(pair.peer.awaitReceive().byteLength()).isEqualTo(300);
            pair.peer.assertRing(700, 300, 700);
            pair.peer.assertRing(0, 300, 1000);
            assertThat(pair.peer.receives()).isEqualTo(3);
        }
    }

    /** Until the control message is there the ring has 300 bytes free, and a send would stop at the wrap. */
    private static void awaitRoom(Accepted pair) {
        pair.peer.awaitSends();
        int ignored = pair.endpoint.available();
    }

    @Test
    void fillsThePeersRingToTheLastByte() {
        try (Accepted pair = new Accepted(OPTIONS, 1000, 10)) {
            assertThat(sendSome(pair.endpoint, 0, 5000)).isEqualTo(1000);
            assertThat(sendSome(pair.endpoint, 1000, 1)).isZero();
            assertThat(pair.peer.awaitReceive().byteLength()).isEqualTo(1000);
            pair.peer.assertRing(0, 1000, 0);
            pair.peer.sendControl(1 << 20 | 1000);
            pair.endpoint.awaitWritable(TIMEOUT);
            assertThat(sendSome(pair.endpoint, 1000, 5000)).isEqualTo(1000);
            assertThat(pair.peer.awaitReceive().byteLength()).isEqualTo(1000);
            pair.peer.assertRing(0, 1000, 1000);
        }
    }

    @Test
    void keepsTwoOfThePeersReceivesForControl() {
        try (Accepted pair = new Accepted(OPTIONS, 1000, 10)) {
            for (int i = 0; i < 8; i++) {
                assertThat(sendSome(pair.endpoint, i, 1)).isEqualTo(1);
            }
            assertThat(sendSome(pair.endpoint, 8, 1)).isZero();
            assertThat(pair.endpoint.peekSend()).isFalse();
            // This side can still answer: half of its ring was read.
            pair.peer.write(16_384);
            pair.endpoint.awaitReadable(TIMEOUT);
            receiveAll(pair.endpoint, 0, 16_384, 16_384);
            for (int i = 0; i < 8; i++) {
                assertThat(pair.peer.awaitReceive().byteLength()).isEqualTo(1);
            }
            assertThat(pair.peer.awaitReceive().immediate()).isEqualTo(1 << 20 | 16_384);
            pair.peer.sendControl(9 << 20 | 8);
            pair.endpoint.awaitWritable(TIMEOUT);
            assertThat(sendSome(pair.endpoint, 8, 1)).isEqualTo(1);
        }
    }

    // ---- FI_MORE ----

    /** Ten pieces, one message: and one credit, of which there are eight. */
    @ParameterizedTest
    @CsvSource({"10, 30", "20, 1"})
    void piecesThatAnnounceMoreGoInOneMessage(int pieces, int size) {
        try (Accepted pair = new Accepted(OPTIONS, 1000, 10)) {
            for (int i = 0; i < pieces; i++) {
                assertThat(sendSome(pair.endpoint, (long) i * size, size, i < pieces - 1))
                        .isEqualTo(size);
            }
            assertThat(pair.peer.awaitReceive().byteLength()).isEqualTo(pieces * size);
            pair.peer.assertRing(0, pieces * size, 0);
            assertThat(pair.peer.receives()).isEqualTo(1);
            // The message has taken one of eight credits.
            for (int i = 0; i < 7; i++) {
                assertThat(sendSome(pair.endpoint, i, 1)).isEqualTo(1);
            }
            assertThat(sendSome(pair.endpoint, 7, 1)).isZero();
        }
    }

    /** In the peer's ring of 1000 bytes: 700, given back, then 200 and 200 of which the second wraps. */
    @Test
    void whatIsHeldBackEndsAtTheWrapOfARing() {
        try (Accepted pair = new Accepted(OPTIONS, 1000, 10)) {
            assertThat(sendSome(pair.endpoint, 0, 700)).isEqualTo(700);
            assertThat(pair.peer.awaitReceive().byteLength()).isEqualTo(700);
            pair.peer.sendControl(1 << 20 | 700);
            awaitRoom(pair);
            assertThat(sendSome(pair.endpoint, 700, 200, true)).isEqualTo(200);
            assertThat(sendSome(pair.endpoint, 900, 200, true)).isEqualTo(200);
            assertThat(sendSome(pair.endpoint, 1100, 50, false)).isEqualTo(50);
            assertThat(pair.peer.awaitReceive().byteLength()).isEqualTo(300);
            assertThat(pair.peer.awaitReceive().byteLength()).isEqualTo(150);
            pair.peer.assertRing(700, 300, 700);
            pair.peer.assertRing(0, 150, 1000);
        }
    }

    @Test
    void whatIsHeldBackGoesWhenThereIsNoRoomForMore() {
        try (Accepted pair = new Accepted(OPTIONS, 1000, 10)) {
            assertThat(sendSome(pair.endpoint, 0, 600, true)).isEqualTo(600);
            assertThat(sendSome(pair.endpoint, 600, 600, true)).isEqualTo(400);
            assertThat(pair.peer.awaitReceive().byteLength()).isEqualTo(1000);
            pair.peer.assertRing(0, 1000, 0);
        }
    }

    @Test
    void noMoreThan16KiBAreHeldBack() {
        try (Accepted pair = new Accepted(OPTIONS, 32_768, 10)) {
            for (int i = 0; i < 5; i++) {
                assertThat(sendSome(pair.endpoint, i * 4096L, 4096, true)).isEqualTo(4096);
            }
            assertThat(pair.peer.awaitReceive().byteLength()).isEqualTo(16_384);
            assertThat(sendSome(pair.endpoint, 20_480, 0, false)).isZero();
            assertThat(pair.peer.awaitReceive().byteLength()).isEqualTo(4096);
            pair.peer.assertRing(0, 20_480, 0);
        }
    }

    /** What a program may do instead of what it announced: nothing may stay behind. */
    enum Other {
        RECEIVE(endpoint -> {
            int ignored = endpoint.receive(ByteBuffer.allocate(1));
        }),
        PEEK_SEND(StreamEndpoint::peekSend),
        PEEK_RECEIVE(StreamEndpoint::peekReceive),
        AVAILABLE(StreamEndpoint::available),
        TRY_WAIT(StreamEndpoint::tryWait),
        AWAIT_WRITABLE(endpoint -> endpoint.awaitWritable(TIMEOUT)),
        SHUTDOWN(endpoint -> endpoint.shutdown(TIMEOUT));

        private final Consumer<StreamEndpoint> call;

        Other(Consumer<StreamEndpoint> call) {
            this.call = call;
        }
    }

    @ParameterizedTest
    @EnumSource
    void anyOtherCallWritesWhatIsHeldBack(Other other) {
        try (Accepted pair = new Accepted(OPTIONS, 1000, 10)) {
            assertThat(sendSome(pair.endpoint, 0, 300, true)).isEqualTo(300);
            other.call.accept(pair.endpoint);
            assertThat(pair.peer.awaitReceive().byteLength()).isEqualTo(300);
            pair.peer.assertRing(0, 300, 0);
        }
    }

    /** The words of the iWARP mode tell the whole message's length. */
    @Test
    void piecesGoInOneMessageInTheModeOfIwarp() {
        try (Accepted pair = new Accepted(OPTIONS.withMode(StreamMode.IWARP), 1000, 10)) {
            assertThat(sendSome(pair.endpoint, 0, 100, true)).isEqualTo(100);
            assertThat(sendSome(pair.endpoint, 100, 100, false)).isEqualTo(100);
            WorkCompletion completion = pair.peer.awaitReceive();
            assertThat(pair.peer.word(completion)).isEqualTo(0x80000000 | 200);
            pair.peer.assertRing(0, 200, 0);
        }
    }

    @Test
    void givesBackAfterHalfOfTheReceivesOrHalfOfTheRing() {
        StreamOptions small = OPTIONS.withReceiveBufferBytes(1000).withReceiveQueueDepth(20);
        try (Accepted pair = new Accepted(small, 4000, 100)) {
            for (int i = 0; i < 10; i++) {
                pair.peer.write(1);
            }
            pair.endpoint.awaitReadable(TIMEOUT);
            receiveAll(pair.endpoint, 0, 10, 10);
            // All ten are there, but which of them were read at that time is open: credits come back at the tenth.
            WorkCompletion control = pair.peer.awaitReceive();
            assertThat(control.opcode()).isEqualTo(WorkCompletion.Opcode.RECV);
            assertThat(control.hasImmediate()).isTrue();
            assertThat(control.byteLength()).isZero();
            assertThat(control.immediate() >>> 20).isEqualTo(10);
            int freed = control.immediate() & 0xfffff;
            assertThat(freed).isBetween(0, 10);

            pair.peer.write(495);
            pair.endpoint.awaitReadable(TIMEOUT);
            receiveAll(pair.endpoint, 10, 495, 1000);
            pair.peer.write(495);
            pair.endpoint.awaitReadable(TIMEOUT);
            receiveAll(pair.endpoint, 505, 495, 1000);
            WorkCompletion next = pair.peer.awaitReceive();
            assertThat(next.immediate() & 0xfffff).isGreaterThanOrEqualTo(500);
            assertThat(next.immediate() >>> 20).isBetween(1, 2);
        }
    }

    @Test
    void theIwarpModeSendsAWordAfterEachWrite() {
        StreamOptions iwarp = OPTIONS.withMode(StreamMode.IWARP);
        try (Accepted pair = new Accepted(iwarp, 1000, 10)) {
            assertThat(sendSome(pair.endpoint, 0, 700)).isEqualTo(700);
            WorkCompletion word = pair.peer.awaitReceive();
            assertThat(word.opcode()).isEqualTo(WorkCompletion.Opcode.RECV);
            assertThat(word.hasImmediate()).isFalse();
            assertThat(word.byteLength()).isEqualTo(4);
            assertThat(pair.peer.word(word)).isEqualTo(0x80000000 | 700);
            pair.peer.assertRing(0, 700, 0);

            pair.peer.sendWord(1 << 20 | 700);
            awaitRoom(pair);
            assertThat(sendSome(pair.endpoint, 700, 600)).isEqualTo(600);
            assertThat(pair.peer.word(pair.peer.awaitReceive())).isEqualTo(0x80000000 | 300);
            assertThat(pair.peer.word(pair.peer.awaitReceive())).isEqualTo(0x80000000 | 300);
            pair.peer.assertRing(700, 300, 700);
            pair.peer.assertRing(0, 300, 1000);

            pair.peer.writeAndWord(16_384);
            pair.endpoint.awaitReadable(TIMEOUT);
            receiveAll(pair.endpoint, 0, 16_384, 5000);
            assertThat(pair.peer.word(pair.peer.awaitReceive())).isEqualTo(2 << 20 | 16_384);
        }
    }

    // ---- the split mode ----

    private static final StreamOptions SPLIT = OPTIONS.withMode(StreamMode.SPLIT);

    @Test
    void theSplitModeTellsTheSendRingToo() {
        try (WirePeer.Listener listener = new WirePeer.Listener();
                StreamEventQueue events = StreamEventQueue.create();
                StreamEndpoint endpoint = StreamEndpoint.connect(
                        events, null, listener.address(), SPLIT.withSendBufferBytes(50_000), TIMEOUT);
                WirePeer peer = listener.accept(WirePeer.splitData(1000, 10))) {
            endpoint.awaitConnected(TIMEOUT);
            ByteBuffer request = ByteBuffer.wrap(peer.received);
            assertThat(request.getInt(16)).isEqualTo(32_768);
            assertThat(request.getInt(24)).isEqualTo(0x53504c54);
            assertThat(request.getInt(28)).isEqualTo(50_000);
            // One region: the rings lie one behind the other.
            assertThat(request.getLong(32)).isBetween(request.getLong(0) - 60_000, request.getLong(0) - 50_000);
            assertThat(Arrays.copyOfRange(peer.received, 40, peer.received.length))
                    .containsOnly(0);
        }
    }

    /** Of 40,000 bytes one half is to be read; it leaves the ring of 50,000 when the peer says that it was. */
    @Test
    void halfOfWhatIsLargeIsLeftToThePeer() {
        try (Accepted pair = new Accepted(SPLIT.withSendBufferBytes(50_000), WirePeer.splitData(65_536, 20))) {
            assertThat(sendSome(pair.endpoint, 0, 40_000)).isEqualTo(40_000);
            WorkCompletion announcement = pair.peer.awaitReceive();
            assertThat(announcement.opcode()).isEqualTo(WorkCompletion.Opcode.RECV);
            assertThat(announcement.byteLength()).isZero();
            assertThat(announcement.immediate()).isEqualTo(1 << 29 | 20_000);
            WorkCompletion write = pair.peer.awaitReceive();
            assertThat(write.opcode()).isEqualTo(WorkCompletion.Opcode.RECV_RDMA_WITH_IMM);
            assertThat(write.immediate()).isZero();
            assertThat(write.byteLength()).isEqualTo(20_000);
            pair.peer.assertRing(20_000, 20_000, 20_000);

            assertThat(sendSome(pair.endpoint, 40_000, 20_000)).isEqualTo(10_000);
            assertThat(sendSome(pair.endpoint, 50_000, 1)).isZero();
            assertThat(pair.peer.awaitReceive().byteLength()).isEqualTo(10_000);
            pair.peer.read(0, 20_000);
            pair.peer.assertRing(0, 50_000, 0);
            assertThat(pair.endpoint.peekSend()).isFalse();
            assertThatThrownBy(() -> pair.endpoint.shutdown(SHORT))
                    .isInstanceOf(RdmaTimeoutException.class)
                    .hasMessageContaining("1 pieces that the peer has not read yet");
            pair.peer.sendControl(1 << 30 | 20_000);
            pair.endpoint.shutdown(TIMEOUT);
        }
    }

    /** A piece of the first 40,000 bytes, another one behind it; neither leaves the ring of 80,000 before both are told of. */
    @Test
    void twoPiecesAreToldOfInOneMessage() {
        try (Accepted pair = new Accepted(SPLIT.withSendBufferBytes(80_000), WirePeer.splitData(65_536, 20))) {
            assertThat(sendSome(pair.endpoint, 0, 100)).isEqualTo(100);
            assertThat(sendSome(pair.endpoint, 100, 40_000)).isEqualTo(40_000);
            assertThat(pair.peer.awaitReceive().byteLength()).isEqualTo(100);
            assertThat(pair.peer.awaitReceive().immediate()).isEqualTo(1 << 29 | 20_000);
            assertThat(pair.peer.awaitReceive().byteLength()).isEqualTo(20_000);
            pair.peer.read(100, 20_000);
            pair.peer.sendControl(3 << 20 | 40_100);
            awaitRoom(pair);

            // To be read as much as goes to the end of the peer's ring; then to the end of this side's, and up to the
            // first piece.
            assertThat(sendSome(pair.endpoint, 40_100, 60_000)).isEqualTo(40_000);
            assertThat(pair.peer.awaitReceive().immediate()).isEqualTo(1 << 29 | 25_436);
            pair.peer.read(40_100, 25_436);
            pair.peer.assertRing(40_100, 25_436, 40_100);
            assertThat(pair.peer.awaitReceive().byteLength()).isEqualTo(14_464);
            assertThat(pair.peer.awaitReceive().byteLength()).isEqualTo(100);
            pair.peer.assertRing(0, 14_564, 65_536);
            assertThat(sendSome(pair.endpoint, 80_100, 1)).isZero();
            pair.peer.sendControl(1 << 30 | 45_436);
            awaitRoom(pair);
            assertThat(sendSome(pair.endpoint, 80_100, 100)).isEqualTo(100);
            assertThat(pair.peer.awaitReceive().byteLength()).isEqualTo(100);
            pair.endpoint.shutdown(TIMEOUT);
        }
    }

    @Test
    void readsWhatThePeerAnnouncesAndTellsSo() {
        StreamOptions options = SPLIT.withReceiveBufferBytes(60_000);
        try (Accepted pair = new Accepted(options, WirePeer.splitData(1000, 10))) {
            pair.peer.write(50);
            pair.peer.announce(20_000);
            pair.peer.write(100);
            pair.peer.awaitSends();
            pair.endpoint.awaitReadable(TIMEOUT);
            receiveAll(pair.endpoint, 0, 20_150, 60_000);
            assertThat(pair.peer.awaitReceive().immediate()).isEqualTo(1 << 30 | 20_000);
            // Up to the end of the ring: less than half of it was given back.
            pair.peer.announce(30_000);
            pair.endpoint.awaitReadable(TIMEOUT);
            receiveAll(pair.endpoint, 20_150, 30_000, 7000);
            int told = 0;
            int freed = 0;
            while (told == 0 || freed == 0) {
                int word = pair.peer.awaitReceive().immediate();
                told += word >>> 20 == 1 << 10 ? word & 0xfffff : 0;
                freed += word >>> 29 == 0 ? word & 0xfffff : 0;
            }
            assertThat(told).isEqualTo(30_000);
            assertThat(freed).isGreaterThanOrEqualTo(30_000);
        }
    }

    /** A side that does nothing but send reads what is announced, and tells so, as its receive ring has room for it. */
    @Test
    void aSideThatOnlySendsTellsWhatItHasRead() {
        try (Accepted pair = new Accepted(SPLIT, WirePeer.splitData(1000, 10))) {
            pair.peer.announce(20_000);
            pair.peer.awaitSends();
            assertThat(sendSome(pair.endpoint, 0, 1000)).isEqualTo(1000);
            assertThat(pair.peer.awaitReceive().byteLength()).isEqualTo(1000);
            // The peer's ring is full: each call looks for room, for some microseconds.
            for (int i = 0; i < 1000; i++) {
                assertThat(sendSome(pair.endpoint, 1000, 1)).isZero();
            }
            assertThat(pair.peer.awaitReceive().immediate()).isEqualTo(1 << 30 | 20_000);
        }
    }

    @ParameterizedTest
    @CsvSource({
        // Too little, too much, past the end of the receive ring of 32,768, and past that of the send ring of 65,536.
        "32768, 0, 0x20000000, the least is 16384",
        "32768, 0, 0x20003fff, the least is 16384",
        "32768, 0, 0x20008001, there is room for 32768",
        "32768, 20000, 0x20004000, there is room for 12768",
        "100000, 60000, 0x20004000, there is room for 5536",
        "32768, 0, 0x40000000, were not announced",
        "32768, 0, 0x40004000, were not announced",
        "32768, 0, 0x60004000, not a control message",
        "32768, 0, 0x20104000, not a control message"
    })
    void aMessageOfTheSplitModeThatCannotBeEndsTheStream(int ring, int before, String word, String text) {
        StreamOptions options = SPLIT.withReceiveBufferBytes(ring);
        try (Accepted pair = new Accepted(options, WirePeer.splitData(1000, 10))) {
            if (before > 0) {
                pair.peer.write(before);
                pair.endpoint.awaitReadable(TIMEOUT);
                receiveAll(pair.endpoint, 0, before, before);
            }
            pair.peer.sendControl(Integer.decode(word));
            assertThatThrownBy(() -> pair.endpoint.awaitReadable(TIMEOUT))
                    .hasMessageContaining(text)
                    .isInstanceOfSatisfying(
                            StreamException.class, e -> assertThat(e.reason()).isEqualTo(Reason.PROTOCOL_VIOLATION));
        }
    }

    /** The piece's place is no memory of the peer's: its device refuses the read, which names it. */
    @Test
    void aPieceThatCannotBeReadEndsTheStreamAfterWhatCameBefore() {
        byte[] elsewhere = WirePeer.splitData(1000, 10);
        ByteBuffer ignored = ByteBuffer.wrap(elsewhere).putLong(32, 1 << 24);
        try (Accepted pair = new Accepted(SPLIT, elsewhere)) {
            pair.peer.write(50);
            pair.peer.announce(16_384);
            pair.endpoint.awaitReadable(TIMEOUT);
            receiveAll(pair.endpoint, 0, 50, 50);
            assertThatThrownBy(() -> pair.endpoint.awaitReadable(TIMEOUT))
                    .hasMessageContaining("REM_ACCESS_ERR")
                    .isInstanceOfSatisfying(
                            StreamException.class, e -> assertThat(e.reason()).isEqualTo(Reason.CONNECTION_LOST));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "0x7fffffff, not a control message",
        "0x20004000, not a control message",
        "0x40000001, not a control message",
        "0x00000001, more than it had received",
        "0x00100000, more than it had received"
    })
    void aControlMessageThatCannotBeEndsTheStream(String word, String text) {
        try (Accepted pair = new Accepted(OPTIONS, 1000, 10)) {
            pair.peer.sendControl(Integer.decode(word));
            assertThatThrownBy(() -> pair.endpoint.awaitReadable(TIMEOUT))
                    .hasMessageContaining(text)
                    .isInstanceOfSatisfying(
                            StreamException.class, e -> assertThat(e.reason()).isEqualTo(Reason.PROTOCOL_VIOLATION));
            assertThatThrownBy(() -> sendSome(pair.endpoint, 0, 1)).isInstanceOf(StreamException.class);
        }
    }

    @Test
    void aPeerThatOverrunsTheRingEndsTheStreamAfterWhatCameBefore() {
        StreamOptions small = OPTIONS.withReceiveBufferBytes(1000);
        try (Accepted pair = new Accepted(small, 1000, 10)) {
            pair.peer.write(900);
            pair.endpoint.awaitReadable(TIMEOUT);
            // 100 bytes are free; the others are not even when they were read, before they were given back.
            pair.peer.writeAt(0, 200);
            pair.peer.awaitSends();
            assertThat(pair.endpoint.receive(ByteBuffer.allocate(5000))).isEqualTo(900);
            assertThatThrownBy(() -> pair.endpoint.awaitReadable(TIMEOUT))
                    .hasMessageContaining("200 bytes into a ring")
                    .isInstanceOf(StreamException.class);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 3})
    void anotherVersionIsRefusedByTheListener(int version) {
        byte[] data = WirePeer.data(1000, 10);
        data[22] = (byte) version;
        assertRefused(data, Reason.VERSION_MISMATCH, "version " + version, "version 2");
    }

    @Test
    void ringsAndQueuesOutOfRangeAreRefusedByTheListener() {
        assertRefused(WirePeer.data(1 << 20, 10), Reason.BAD_CONNECTION_DATA, "1048576 bytes", "bad data");
        assertRefused(WirePeer.data(1000, 1024), Reason.BAD_CONNECTION_DATA, "1024 entries", "bad data");
    }

    private static void assertRefused(byte[] data, Reason reason, String told, String toldToPeer) {
        try (StreamEventQueue events = StreamEventQueue.create();
                StreamListener listener = StreamListener.listen(events, ANY_PORT, 1, OPTIONS);
                WirePeer peer = WirePeer.request(listener.localAddress(), data)) {
            StreamEvent event = events.await(TIMEOUT);
            assertThat(event.type()).isEqualTo(StreamEvent.Type.ERROR);
            assertThat(event.listener()).isSameAs(listener);
            assertThat(event.failure())
                    .hasMessageContaining(told)
                    .isInstanceOfSatisfying(
                            StreamException.class, e -> assertThat(e.reason()).isEqualTo(reason));
            assertThatThrownBy(peer::awaitEstablished)
                    .isInstanceOfSatisfying(
                            UnexpectedCmEventException.class,
                            e -> assertThat(new String(e.privateData(), java.nio.charset.StandardCharsets.US_ASCII))
                                    .contains(toldToPeer));
        }
    }

    @Test
    void anotherVersionInTheReplyIsRefused() {
        byte[] data = WirePeer.data(1000, 10);
        data[22] = 1;
        try (WirePeer.Listener listener = new WirePeer.Listener();
                StreamEventQueue events = StreamEventQueue.create();
                StreamEndpoint endpoint = StreamEndpoint.connect(events, null, listener.address(), OPTIONS, TIMEOUT);
                WirePeer peer = listener.accept(data)) {
            assertThatThrownBy(() -> endpoint.awaitConnected(TIMEOUT))
                    .hasMessageContaining("version 1")
                    .isInstanceOfSatisfying(
                            StreamException.class, e -> assertThat(e.reason()).isEqualTo(Reason.VERSION_MISMATCH));
            assertThat(events.await(TIMEOUT).type()).isEqualTo(StreamEvent.Type.ERROR);
            peer.awaitDisconnected();
        }
    }

    /** A peer that posts its receives only when it knows of the connection, as libfabric does, is waited for. */
    @Test
    void aPeerThatPostsItsReceivesLateGetsEverything() {
        try (WirePeer.Listener listener = new WirePeer.Listener();
                StreamEventQueue events = StreamEventQueue.create();
                StreamEndpoint endpoint = StreamEndpoint.connect(events, null, listener.address(), OPTIONS, TIMEOUT);
                WirePeer peer = listener.accept(WirePeer.data(1000, 10))) {
            endpoint.awaitConnected(TIMEOUT);
            assertThat(sendSome(endpoint, 0, 10)).isEqualTo(10);
            peer.postReceives();
            assertThat(peer.awaitReceive().byteLength()).isEqualTo(10);
            peer.assertRing(0, 10, 0);
        }
    }

    /** A stream of ours that accepted a plain-verbs peer. */
    private static final class Accepted implements AutoCloseable {

        private final Closer open = new Closer();
        private final WirePeer peer;
        private final StreamEndpoint endpoint;

        Accepted(StreamOptions options, int ring, int credits) {
            this(options, WirePeer.data(ring, credits));
        }

        Accepted(StreamOptions options, byte[] data) {
            boolean done = false;
            try {
                StreamEventQueue events = open.own(StreamEventQueue.create());
                StreamListener listener = open.own(StreamListener.listen(events, ANY_PORT, 1, options));
                InetSocketAddress address = listener.localAddress();
                peer = open.own(WirePeer.request(address, data));
                endpoint = open.own(events.await(TIMEOUT).request().accept());
                peer.awaitEstablished();
                endpoint.awaitConnected(TIMEOUT);
                peer.postReceives();
                done = true;
            } finally {
                if (!done) {
                    open.close();
                }
            }
        }

        @Override
        public void close() {
            open.close();
        }
    }

    @Test
    void theTestsPeerHasTheFormatOfTheDescription() {
        byte[] data = WirePeer.data(1000, 10);
        assertThat(data).hasSize(24);
        assertThat(Arrays.copyOfRange(data, 16, 22)).containsExactly(0, 0, 3, 0xe8, 0, 10);
        assertThat(ByteBuffer.wrap(data).order(ByteOrder.BIG_ENDIAN).get(22)).isEqualTo((byte) 2);
    }
}
