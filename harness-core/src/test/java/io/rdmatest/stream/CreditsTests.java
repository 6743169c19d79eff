package io.rdmatest.stream;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CreditsTests {

    @Test
    void dataLeavesTwoOfEachCreditForControl() {
        Credits credits = new Credits(6, 100, 100);
        credits.connect(100);
        int sent = 0;
        while (credits.maySendData()) {
            credits.dataSent();
            sent++;
        }
        assertThat(sent).isEqualTo(4);
        assertThat(credits.maySendControl()).isTrue();
        credits.controlSent();
        credits.controlSent();
        assertThat(credits.hasControlCredit()).isFalse();
        assertThat(credits.outstanding()).isEqualTo(6);

        credits.transmitCompleted();
        assertThat(credits.hasControlCredit()).isTrue();
        assertThat(credits.maySendData()).as("the reserve fills first").isFalse();
        credits.transmitCompleted();
        assertThat(credits.maySendData()).isFalse();
        credits.transmitCompleted();
        assertThat(credits.maySendData()).isTrue();
        assertThat(credits.outstanding()).isEqualTo(3);
    }

    /** Libfabric compares by equality, and sends data on when a control message has jumped over the mark. */
    @Test
    void dataStopsAlsoBelowTheTargetReserve() {
        Credits credits = new Credits(100, 100, 100);
        credits.connect(4);
        credits.dataSent();
        assertThat(credits.maySendData()).isTrue();
        credits.controlSent();
        assertThat(credits.target()).isEqualTo(2);
        assertThat(credits.maySendData()).isFalse();
        credits.controlSent();
        assertThat(credits.target()).isEqualTo(1);
        assertThat(credits.maySendData()).isFalse();
        credits.controlSent();
        assertThat(credits.target()).isZero();
        assertThat(credits.maySendControl()).isFalse();
        assertThat(credits.maySendData()).isFalse();
    }

    @Test
    void owesAtHalfOfTheReceivesOrOfTheRing() {
        Credits credits = new Credits(10, 10, 100);
        for (int i = 0; i < 4; i++) {
            assertThat(credits.received()).isTrue();
        }
        credits.copiedOut(49);
        assertThat(credits.controlDue()).isFalse();
        credits.copiedOut(1);
        assertThat(credits.controlDue()).isTrue();
        int word = credits.takeControlWord();
        assertThat(ControlWord.credits(word)).isEqualTo(4);
        assertThat(ControlWord.bytes(word)).isEqualTo(50);
        assertThat(credits.controlDue()).isFalse();
        for (int i = 0; i < 5; i++) {
            assertThat(credits.received()).isTrue();
        }
        assertThat(credits.controlDue()).isTrue();
        assertThat(ControlWord.bytes(credits.takeControlWord())).isZero();
    }

    @Test
    void neverGivesBackMoreCreditsThanNineBitsHold() {
        Credits credits = new Credits(10, 1023, 1000);
        for (int i = 0; i < 1023; i++) {
            assertThat(credits.received()).isTrue();
        }
        assertThat(credits.received()).as("one more than there are receives").isFalse();
        assertThat(ControlWord.credits(credits.takeControlWord())).isEqualTo(511);
        assertThat(credits.controlDue()).isTrue();
        assertThat(ControlWord.credits(credits.takeControlWord())).isEqualTo(511);
        assertThat(credits.controlDue()).isFalse();
    }

    @Test
    void refusesCreditsThatItNeverGave() {
        Credits credits = new Credits(10, 10, 100);
        credits.connect(10);
        credits.dataSent();
        assertThat(credits.credited(2)).isFalse();
        assertThat(credits.credited(1)).isTrue();
        assertThat(credits.target()).isEqualTo(10);
    }

    /**
     * Two sides send to each other as much as they can, with any sizes and any order of events: neither overruns the other,
     * and it never comes to a standstill.
     */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
    void twoSaturatedSidesNeverWaitForEachOtherForEver(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        for (int pair = 0; pair < 40; pair++) {
            Side a = new Side(random);
            Side b = new Side(random);
            a.meet(b);
            b.meet(a);
            String setting = "seed " + seed + ", pair " + pair;
            for (int turn = 0; turn < 3000; turn++) {
                Side side = random.nextBoolean() ? a : b;
                boolean ignored = side.step(random.nextInt(5), random);
            }
            // From here on everything that can happen does: data goes on flowing in both directions.
            for (int round = 0; round < 30; round++) {
                long fromA = b.received;
                long fromB = a.received;
                for (int turn = 0; turn < 200; turn++) {
                    for (int what = 0; what < 5; what++) {
                        boolean ignored = a.step(what, random);
                        ignored = b.step(what, random);
                    }
                }
                assertThat(b.received)
                        .as("a to b, " + setting + ": " + a + " / " + b)
                        .isGreaterThan(fromA);
                assertThat(a.received)
                        .as("b to a, " + setting + ": " + a + " / " + b)
                        .isGreaterThan(fromB);
            }
        }
    }

    /** A side as the stream has it, over a link that is a queue. */
    private static final class Side {

        private record Message(int word, int length) {}

        private final int depth;
        private final Ring sendRing;
        private final Ring receiveRing;
        private final Credits credits;
        private final int largest;
        private final Deque<Message> incoming = new ArrayDeque<>();
        private final Deque<Long> unacknowledged = new ArrayDeque<>();
        private Ring peerRing;
        private Side peer;
        private long received;

        Side(SplittableRandom random) {
            depth = random.nextInt(4, 40);
            int receiveRingBytes = random.nextInt(1, 300);
            sendRing = new Ring(random.nextInt(1, 300));
            receiveRing = new Ring(receiveRingBytes);
            credits = new Credits(random.nextInt(4, 40), depth, receiveRingBytes);
            largest = random.nextBoolean() ? 1 : random.nextInt(1, 400);
        }

        void meet(Side other) {
            peer = other;
            peerRing = new Ring(other.receiveRing.size());
            credits.connect(other.depth);
        }

        boolean step(int what, SplittableRandom random) {
            return switch (what) {
                case 0 -> send(random);
                case 1 -> poll();
                case 2 -> acknowledged();
                case 3 -> copyOut(random);
                default -> giveBack();
            };
        }

        private boolean send(SplittableRandom random) {
            int length = Math.min(
                    random.nextInt(1, largest + 1), Math.min(sendRing.contiguousFree(), peerRing.contiguousFree()));
            if (length == 0 || !credits.maySendData()) {
                return false;
            }
            assertThat(sendRing.produce(length)).isTrue();
            assertThat(peerRing.produce(length)).isTrue();
            credits.dataSent();
            unacknowledged.add(sendRing.produced());
            peer.incoming.add(new Message(0, length));
            return true;
        }

        private boolean poll() {
            Message message = incoming.poll();
            if (message == null) {
                return false;
            }
            assertThat(credits.received()).as("a receive for each message").isTrue();
            if (message.word == 0) {
                assertThat(receiveRing.produce(message.length))
                        .as("room in the ring")
                        .isTrue();
            } else {
                assertThat(credits.credited(ControlWord.credits(message.word))).isTrue();
                assertThat(peerRing.consume(ControlWord.bytes(message.word))).isTrue();
            }
            return true;
        }

        private boolean acknowledged() {
            Long position = unacknowledged.poll();
            if (position == null) {
                return false;
            }
            if (position >= 0) {
                sendRing.consumeTo(position);
            }
            credits.transmitCompleted();
            assertThat(credits.outstanding()).isEqualTo(unacknowledged.size());
            return true;
        }

        private boolean copyOut(SplittableRandom random) {
            int length = Math.min(random.nextInt(1, 400), receiveRing.contiguousUsed());
            assertThat(receiveRing.consume(length)).isTrue();
            credits.copiedOut(length);
            received += length;
            return length > 0;
        }

        private boolean giveBack() {
            if (!credits.controlDue() || !credits.maySendControl()) {
                return false;
            }
            peer.incoming.add(new Message(credits.takeControlWord(), 0));
            credits.controlSent();
            unacknowledged.add(-1L);
            return true;
        }

        @Override
        public String toString() {
            return credits + ", " + incoming.size() + " incoming, peer ring " + peerRing.used() + "/" + peerRing.size();
        }
    }
}
