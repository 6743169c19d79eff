package io.rdmatest.scenarios.engine;

/**
 * What one receiving queue pair got of one sending queue pair.
 *
 * @param receiver the receiver's index among the queue pairs of its program, from 0
 * @param receiverQp the receiver's queue pair number
 * @param senderQp the sender's queue pair number; 0 of a sender of which nothing came
 * @param proof how much the messages tell
 * @param received distinct messages that came, of those that were expected
 * @param lost messages that were expected and did not come; of senders that do not say how many they send, only the gaps
 *     before the last message that came
 * @param duplicates messages that came once more
 * @param reordered messages that came after a later one; datagrams may do that
 * @param mismatches messages of a wrong length, or with a wrong byte
 * @param violations messages with wrong immediate data, sender or global route header
 * @param bytesVerified bytes that were compared, headers included
 */
public record Delivery(
        int receiver,
        int receiverQp,
        int senderQp,
        Proof proof,
        long received,
        long lost,
        long duplicates,
        long reordered,
        long mismatches,
        long violations,
        long bytesVerified) {

    /** How much the messages of a sender tell. */
    public enum Proof {
        /** A full header: who sent it, how many there are, the sequence number; every byte is verified. */
        FULL("verified"),
        /** Too small for a full header: a sequence number, and every byte verified, but not how many there are. */
        COMPACT("verified with a compact header"),
        /** Messages of the C program, or empty ones: counted, with immediate data, sender and global route header verified. */
        COUNTED("not verified");

        private final String text;

        Proof(String text) {
            this.text = text;
        }

        /** Returns it in words, for example {@code not verified}. */
        @Override
        public String toString() {
            return text;
        }
    }

    /** Whether nothing is lost, came twice or is wrong; the order does not count. */
    public boolean isGood() {
        return lost == 0 && duplicates == 0 && mismatches == 0 && violations == 0;
    }

    /** Returns the figures as a sentence, for example {@code QP 18 got 10 messages of QP 17: 0 lost, …}. */
    @Override
    public String toString() {
        return "QP %d got %d messages of %s: %d lost, %d duplicated, %d out of order, %d with wrong data, %d with a wrong"
                        .formatted(
                                receiverQp,
                                received,
                                senderQp == 0 ? "a sender that is missing" : "QP " + senderQp,
                                lost,
                                duplicates,
                                reordered,
                                mismatches,
                                violations)
                + " header, payload " + proof;
    }
}
