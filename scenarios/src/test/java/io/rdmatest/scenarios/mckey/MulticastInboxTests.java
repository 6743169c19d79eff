package io.rdmatest.scenarios.mckey;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.rdmatest.Cause;
import io.rdmatest.scenarios.role.Delivery;
import io.rdmatest.scenarios.role.Delivery.Proof;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.verbs.Gid;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Messages that are written here and fed to the receiving side as if a fabric had brought them. */
class MulticastInboxTests {

    private static final Gid GROUP = Gid.parse("::ffff:239.77.0.1");
    private static final int PROGRAM = 0x1234_5678;
    private static final int SENDER = 17;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private final byte[] slot = new byte[40 + 4096];

    // ---- good ----

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4, 5, 7, 8, 9, 27, 28, 29, 100, 4096})
    void verifiesMessagesOfEverySize(int size) {
        MulticastInbox inbox = inbox(size, 300);
        for (int i = 0; i < 300; i++) {
            assertThat(inbox.isComplete()).isFalse();
            feed(inbox, size, SENDER, i, 300);
        }
        assertThat(inbox.isComplete()).isTrue();
        Delivery delivery = only(inbox);
        assertThat(delivery.isGood()).isTrue();
        assertThat(delivery.received()).isEqualTo(300);
        assertThat(delivery.reordered()).isZero();
        assertThat(delivery.bytesVerified()).isEqualTo(300L * size);
        assertThat(delivery.proof()).isEqualTo(size < 28 ? Proof.COMPACT : Proof.FULL);
        assertThat(delivery.senderQp()).isEqualTo(SENDER);
        assertThat(inbox.problem()).isNull();
    }

    @Test
    void countsLateMessagesAndIsStillGood() {
        MulticastInbox inbox = inbox(100, 4);
        for (int i : new int[] {1, 0, 3, 2}) {
            feed(inbox, 100, SENDER, i, 4);
        }
        assertThat(inbox.isComplete()).isTrue();
        assertThat(only(inbox).reordered()).isEqualTo(2);
        assertThat(only(inbox).isGood()).isTrue();
    }

    @Test
    void waitsForEveryQueuePairOfTheSender() {
        MulticastInbox inbox = inbox(100, 2);
        for (int q = 0; q < 3; q++) {
            assertThat(inbox.isComplete()).isFalse();
            for (int i = 0; i < 2; i++) {
                feed(inbox, message(100, PROGRAM, 20 + q, q, 3, i, 2), 20 + q);
            }
        }
        assertThat(inbox.isComplete()).isTrue();
        assertThat(inbox.deliveries()).hasSize(3).allMatch(Delivery::isGood);
    }

    @Test
    void waitsForEveryProgramThatIsToSend() {
        MulticastInbox inbox = new MulticastInbox(0, 99, options(100, 1).and("--senders 2"), GROUP, true);
        feed(inbox, message(100, PROGRAM, 20, 0, 1, 0, 1), 20);
        assertThat(inbox.isComplete()).isFalse();
        feed(inbox, message(100, PROGRAM + 1, 21, 0, 1, 0, 1), 21);
        assertThat(inbox.isComplete()).isTrue();
    }

    @Test
    void tellsHostsApartWhoseQueuePairsHaveTheSameNumber() {
        MulticastInbox inbox = new MulticastInbox(0, 99, options(100, 1).and("--senders 2"), GROUP, true);
        feed(inbox, message(100, PROGRAM, SENDER, 0, 1, 0, 1), SENDER);
        MemorySegment other = message(100, PROGRAM + 1, SENDER, 0, 1, 0, 1);
        other.set(INT, 32, 0x0a4d0002);
        feed(inbox, other, SENDER);
        assertThat(inbox.isComplete()).isTrue();
        assertThat(inbox.deliveries()).hasSize(2).allMatch(Delivery::isGood);
    }

    @Test
    void takesOnlyAsManyAsItExpectsOfASenderThatSendsMore() {
        MulticastInbox inbox = inbox(100, 5);
        for (int i = 0; i < 8; i++) {
            feed(inbox, 100, SENDER, i, 20);
        }
        assertThat(inbox.isComplete()).isTrue();
        assertThat(only(inbox).received()).isEqualTo(5);
        assertThat(only(inbox).isGood()).isTrue();
    }

    // ---- bad ----

    @Test
    void countsWhatIsLost() {
        MulticastInbox inbox = inbox(100, 10);
        for (int i : new int[] {0, 1, 2, 4, 5, 9}) {
            feed(inbox, 100, SENDER, i, 10);
        }
        assertThat(inbox.isComplete()).isFalse();
        assertThat(only(inbox).lost()).isEqualTo(4);
        assertThat(only(inbox).isGood()).isFalse();
        assertThat(inbox.missing()).isEqualTo("QP 99 lacks 3, 6-8 of QP 17");
    }

    @Test
    void countsTheQueuePairOfWhichNothingCame() {
        MulticastInbox inbox = inbox(100, 2);
        for (int i = 0; i < 2; i++) {
            feed(inbox, message(100, PROGRAM, SENDER, 0, 2, i, 2), SENDER);
        }
        assertThat(inbox.isComplete()).isFalse();
        assertThat(inbox.deliveries().stream().mapToLong(Delivery::lost).sum()).isEqualTo(2);
    }

    @Test
    void countsEverythingAsLostWhenNothingCame() {
        MulticastInbox inbox = inbox(100, 7);
        assertThat(only(inbox).lost()).isEqualTo(7);
        assertThat(only(inbox).isGood()).isFalse();
    }

    @Test
    void countsDuplicates() {
        MulticastInbox inbox = inbox(100, 3);
        for (int i : new int[] {0, 1, 1, 2}) {
            feed(inbox, 100, SENDER, i, 3);
        }
        assertThat(only(inbox).duplicates()).isEqualTo(1);
        assertThat(only(inbox).isGood()).isFalse();
    }

    @Test
    void takesAMessageOfAnEarlierRoundForADuplicate() {
        MulticastInbox inbox = inbox(100, 3);
        inbox.begin(3);
        for (int i = 2; i < 6; i++) {
            feed(inbox, 100, SENDER, i, 6);
        }
        assertThat(inbox.isComplete()).isTrue();
        assertThat(only(inbox).duplicates()).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(ints = {8, 9, 20, 27, 28, 29, 100})
    void noticesEveryFlippedBit(int size) {
        for (int bit = 0; bit < 8 * size; bit++) {
            MulticastInbox inbox = inbox(size, 3);
            for (int i = 0; i < 3; i++) {
                MemorySegment message = message(size, PROGRAM, SENDER, 0, 1, i, 3);
                if (i == 1) {
                    flip(message, bit);
                }
                feed(inbox, message, SENDER);
            }
            assertThat(inbox.deliveries()).as("bit %d", bit).anyMatch(delivery -> !delivery.isGood());
            assertThat(only(inbox).mismatches() + only(inbox).lost())
                    .as("bit %d", bit)
                    .isPositive();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 7})
    void noticesAFlippedBitInTheSmallestMessagesAfterTheFirst(int size) {
        for (int bit = 0; bit < 8 * size; bit++) {
            MulticastInbox inbox = inbox(size, 3);
            for (int i = 0; i < 3; i++) {
                MemorySegment message = message(size, PROGRAM, SENDER, 0, 1, i, 3);
                if (i == 1) {
                    flip(message, bit);
                }
                feed(inbox, message, SENDER);
            }
            assertThat(inbox.deliveries()).as("bit %d", bit).anyMatch(delivery -> !delivery.isGood());
        }
    }

    @Test
    void noticesADamagedBeginningOfTheVeryFirstMessage() {
        MulticastInbox inbox = inbox(100, 3);
        for (int i = 0; i < 3; i++) {
            MemorySegment message = message(100, PROGRAM, SENDER, 0, 1, i, 3);
            if (i == 0) {
                flip(message, 3);
            }
            feed(inbox, message, SENDER);
        }
        assertThat(only(inbox).proof()).isEqualTo(Proof.FULL);
        assertThat(only(inbox).mismatches()).isEqualTo(1);
        assertThat(only(inbox).lost()).isEqualTo(1);
    }

    @Test
    void saysWhereTheFirstWrongByteIs() {
        MulticastInbox inbox = inbox(100, 4);
        for (int i : new int[] {0, 1, 2}) {
            feed(inbox, 100, SENDER, i, 4);
        }
        MemorySegment message = message(100, PROGRAM, SENDER, 0, 1, 3, 4);
        flip(message, 8 * 70);
        feed(inbox, message, SENDER);
        assertThat(inbox.isComplete()).isTrue();
        assertThat(only(inbox).mismatches()).isEqualTo(1);
        assertThat(inbox.problem()).contains("at QP 99, of QP 17").contains("message 3: wrong byte at offset 42");
    }

    @Test
    void refusesASenderThatSendsFewerThanAreExpected() {
        MulticastInbox inbox = inbox(100, 10);
        feed(inbox, 100, SENDER, 0, 2);
        assertThatExceptionOfType(ScenarioException.class)
                .isThrownBy(() -> feed(inbox, 100, SENDER, 1, 2))
                .withMessageContaining("sends 2 messages, but this receiver expects 10")
                .matches(e -> e.rdmaCause() == Cause.PEER_LOST);
    }

    @Test
    void noticesWrongLengths() {
        MulticastInbox inbox = inbox(100, 1);
        inbox.take(SENDER, true, SENDER, true, 40 + 99, slot(), body(100), body(100));
        assertThat(only(inbox).mismatches()).isEqualTo(1);
        assertThat(inbox.problem()).contains("it has 99 bytes instead of 100: give both sides the same -S");
    }

    // ---- the route ----

    @Test
    void noticesImmediateDataThatIsNotTheSender() {
        MulticastInbox inbox = inbox(100, 2);
        MemorySegment first = message(100, PROGRAM, SENDER, 0, 1, 0, 2);
        inbox.take(SENDER, true, SENDER + 1, true, 140, first, first.asSlice(40), first.asSlice(68));
        MemorySegment second = message(100, PROGRAM, SENDER, 0, 1, 1, 2);
        inbox.take(SENDER, false, 0, true, 140, second, second.asSlice(40), second.asSlice(68));
        assertThat(only(inbox).violations()).isEqualTo(2);
        assertThat(inbox.problem()).contains("immediate data is 18");
    }

    @Test
    void noticesARouteThatDoesNotLeadToTheGroup() {
        MulticastInbox inbox = inbox(100, 2);
        MemorySegment first = message(100, PROGRAM, SENDER, 0, 1, 0, 2);
        first.set(INT, 36, 0xef4d0002);
        feed(inbox, first, SENDER);
        MemorySegment second = message(100, PROGRAM, SENDER, 0, 1, 1, 2);
        inbox.take(SENDER, true, SENDER, false, 140, second, second.asSlice(40), second.asSlice(68));
        assertThat(inbox.deliveries().stream().mapToLong(Delivery::violations).sum())
                .isEqualTo(2);
        assertThat(inbox.problem()).contains("not addressed to ::ffff:239.77.0.1");
    }

    @Test
    void readsTheGlobalRouteHeaderOfEveryOtherLink() {
        Gid group = Gid.parse("ff0e::77:1");
        MulticastInbox inbox = new MulticastInbox(0, 99, options(100, 2), group, false);
        MemorySegment right = message(100, PROGRAM, SENDER, 0, 1, 0, 2);
        header6(right, group);
        feed(inbox, right, SENDER);
        assertThat(inbox.problem()).isNull();
        MemorySegment wrong = message(100, PROGRAM, SENDER, 0, 1, 1, 2);
        header6(wrong, Gid.parse("ff0e::77:2"));
        feed(inbox, wrong, SENDER);
        assertThat(inbox.problem()).contains("not addressed to ff0e::77:1");
    }

    // ---- the C program ----

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 4, 8, 20, 100})
    void countsTheMessagesOfTheProgram(int size) {
        MulticastInbox inbox = inbox(size, 3);
        for (int i = 0; i < 3; i++) {
            assertThat(inbox.isComplete()).isFalse();
            MemorySegment message = slot().asSlice(0, 40 + size);
            header4(message);
            inbox.take(SENDER, true, SENDER, true, 40 + size, message, message.asSlice(40), body(0));
        }
        assertThat(inbox.isComplete()).isTrue();
        assertThat(only(inbox).proof()).isEqualTo(Proof.COUNTED);
        assertThat(only(inbox).bytesVerified()).isZero();
        assertThat(only(inbox).isGood()).isTrue();
    }

    @Test
    void countsTheMessagesOfAllQueuePairsOfTheProgramTogether() {
        MulticastInbox inbox = inbox(100, 10);
        for (int i = 0; i < 10; i++) {
            assertThat(inbox.isComplete()).isFalse();
            MemorySegment message = slot().asSlice(0, 140);
            header4(message);
            inbox.take(20 + i % 4, true, 20 + i % 4, true, 140, message, message.asSlice(40), body(0));
        }
        assertThat(inbox.isComplete()).isTrue();
        assertThat(inbox.deliveries()).hasSize(4).allMatch(Delivery::isGood);
    }

    @Test
    void saysHowManyMessagesOfTheProgramAreMissing() {
        MulticastInbox inbox = inbox(100, 10);
        for (int i = 0; i < 7; i++) {
            MemorySegment message = slot().asSlice(0, 140);
            header4(message);
            inbox.take(SENDER, true, SENDER, true, 140, message, message.asSlice(40), body(0));
        }
        assertThat(inbox.deliveries().stream().mapToLong(Delivery::lost).sum()).isEqualTo(3);
        assertThat(inbox.deliveries()).anyMatch(delivery -> !delivery.isGood());
    }

    // ---- numbers that are only partly there ----

    @Test
    void expandsToTheNearestNumber() {
        assertThat(MulticastMessage.expand(3, 8, 0)).isEqualTo(3);
        assertThat(MulticastMessage.expand(255, 8, 256)).isEqualTo(255);
        assertThat(MulticastMessage.expand(0, 8, 255)).isEqualTo(256);
        assertThat(MulticastMessage.expand(5, 8, 1020)).isEqualTo(1029);
        assertThat(MulticastMessage.expand(250, 8, 1030)).isEqualTo(1018);
        assertThat(MulticastMessage.expand(0xffff_ffffL, 32, 0)).isEqualTo(0xffff_ffffL);
    }

    // ---- making messages ----

    private static MckeyOptions options(int size, int messages) {
        return MckeyOptions.parse("-m 239.77.0.1 -S", size, "-C", messages);
    }

    private static MulticastInbox inbox(int size, int messages) {
        return new MulticastInbox(0, 99, options(size, messages), GROUP, true);
    }

    private MemorySegment slot() {
        MemorySegment all = MemorySegment.ofArray(slot);
        all.fill((byte) 0);
        header4(all);
        return all;
    }

    private MemorySegment body(int size) {
        return MemorySegment.ofArray(slot).asSlice(40, size);
    }

    /** The IPv4 header of a datagram of RoCE v2, as far as it counts. */
    private static void header4(MemorySegment slot) {
        slot.set(ValueLayout.JAVA_BYTE, 20, (byte) 0x45);
        slot.set(INT, 32, 0x0a4d0001);
        slot.set(INT, 36, 0xef4d0001);
    }

    private static void header6(MemorySegment slot, Gid to) {
        slot.set(ValueLayout.JAVA_BYTE, 0, (byte) 0x60);
        slot.asSlice(24, 16).copyFrom(MemorySegment.ofArray(to.bytes()));
    }

    private MemorySegment message(int size, int program, int queuePair, int index, int count, int sequence, int end) {
        MemorySegment slot = slot().asSlice(0, 40 + size);
        MulticastMessage writer = new MulticastMessage(size);
        writer.write(
                slot.asSlice(40), slot.asSlice(40 + writer.header()), program, queuePair, index, count, sequence, end);
        return slot;
    }

    private static void flip(MemorySegment slot, int bit) {
        long at = 40 + bit / 8;
        slot.set(ValueLayout.JAVA_BYTE, at, (byte) (slot.get(ValueLayout.JAVA_BYTE, at) ^ 1 << bit % 8));
    }

    private void feed(MulticastInbox inbox, int size, int sender, int sequence, int end) {
        feed(inbox, message(size, PROGRAM, sender, 0, 1, sequence, end), sender);
    }

    private static void feed(MulticastInbox inbox, MemorySegment slot, int sender) {
        int header = new MulticastMessage((int) slot.byteSize() - 40).header();
        inbox.take(
                sender, true, sender, true, (int) slot.byteSize(), slot, slot.asSlice(40), slot.asSlice(40 + header));
    }

    private static Delivery only(MulticastInbox inbox) {
        List<Delivery> deliveries = inbox.deliveries();
        assertThat(deliveries).isNotEmpty();
        return deliveries.getFirst();
    }
}
