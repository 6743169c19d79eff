package io.rdmatest.scenarios.role;

/**
 * The messages that one receiving queue pair received from one sending queue pair.
 *
 * @param receiver the receiver's index among the queue pairs of its program, from 0
 * @param receiverQp the receiver's queue pair number
 * @param senderQp the sender's queue pair number; 0 for a sender without any received message
 * @param proof how far the messages were verified
 * @param received the distinct expected messages that arrived
 * @param lost the expected messages that did not arrive; if the sender does not announce their number, only the gaps
 *     before the last received message
 * @param duplicates the messages that arrived again
 * @param reordered the messages that arrived after a later one, which is allowed for datagrams
 * @param mismatches the messages with a wrong length or a wrong byte
 * @param violations the messages with wrong immediate data, sender or global route header
 * @param bytesVerified the compared bytes, including headers
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

    /** How far the messages of a sender can be verified. */
    public enum Proof {
        /** A full header with sender, number of messages and sequence number; every byte is verified. */
        FULL("verified"),
        /** Too small for a full header: only a sequence number; every byte is verified. */
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

    /** Returns whether no message is lost, duplicated or wrong; the order does not count. */
    public boolean isGood() {
        return lost == 0 && duplicates == 0 && mismatches == 0 && violations == 0;
    }

    /** Returns the counts as a sentence, for example {@code QP 18 received 10 messages of QP 17: 0 lost, …}. */
    @Override
    public String toString() {
        return "QP %d received %d messages of %s: %d lost, %d duplicated, %d out of order, %d with wrong data, %d with a wrong"
                        .formatted(
                                receiverQp,
                                received,
                                senderQp == 0 ? "a missing sender" : "QP " + senderQp,
                                lost,
                                duplicates,
                                reordered,
                                mismatches,
                                violations)
                + " header, payload " + proof;
    }
}
