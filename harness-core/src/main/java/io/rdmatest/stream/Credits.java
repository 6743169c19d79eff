package io.rdmatest.stream;

/**
 * Counts what a side may have under way, and what it owes the peer.
 *
 * <p>To send a message takes a place in this side's send queue (a transmit credit) and one in the peer's receive queue (a
 * target credit). Two of each are only for control messages, so that a side that can't send data can still give the
 * peer what it waits for: with both directions full neither side waits for ever. Not thread-safe.
 */
final class Credits {

    /** How many credits of each kind only a control message may use. */
    static final int CONTROL = 2;

    private final int sendDepth;
    private final int receiveDepth;
    private final int dueCredits;
    private final int dueBytes;

    private int transmit;
    private int control = CONTROL;
    private int target;
    private int targetMost;
    private int completions;
    private int freed;

    Credits(int sendDepth, int receiveDepth, int receiveRingBytes) {
        this.sendDepth = sendDepth;
        this.receiveDepth = receiveDepth;
        this.transmit = sendDepth - CONTROL;
        this.dueCredits = Math.max(1, receiveDepth / 2);
        this.dueBytes = Math.max(1, receiveRingBytes / 2);
    }

    /** Takes the size of the peer's receive queue. */
    void connect(int peerReceiveDepth) {
        target = peerReceiveDepth;
        targetMost = peerReceiveDepth;
    }

    // By order, not by equality: control messages take the target credits below the reserve.
    boolean maySendData() {
        return transmit > 0 && target > CONTROL;
    }

    void dataSent() {
        transmit--;
        target--;
    }

    boolean hasControlCredit() {
        return transmit > 0 || control > 0;
    }

    boolean maySendControl() {
        return target > 0 && hasControlCredit();
    }

    void controlSent() {
        target--;
        if (transmit > 0) {
            transmit--;
        } else {
            control--;
        }
    }

    /** One message was acknowledged: the reserve fills first. */
    void transmitCompleted() {
        if (control < CONTROL) {
            control++;
        } else {
            transmit++;
        }
    }

    int outstanding() {
        return sendDepth - transmit - control;
    }

    int target() {
        return target;
    }

    /** Counts a message that arrived, data or control; false if the peer had no credit for it. */
    boolean received() {
        if (completions == receiveDepth) {
            return false;
        }
        completions++;
        return true;
    }

    void copiedOut(int bytes) {
        freed += bytes;
    }

    /** How many bytes were copied out that the peer does not know of yet: it may not write there. */
    int notGivenBack() {
        return freed;
    }

    boolean controlDue() {
        return completions >= dueCredits || freed >= dueBytes;
    }

    /** Takes what is owed, as much of it as a word can hold. */
    int takeControlWord() {
        int credits = Math.min(completions, ControlWord.MOST_CREDITS);
        int bytes = freed;
        completions -= credits;
        freed = 0;
        return ControlWord.of(bytes, credits);
    }

    /** Takes credits that the peer gave back; false if it gave more than it had got. */
    boolean credited(int credits) {
        if (credits > targetMost - target) {
            return false;
        }
        target += credits;
        return true;
    }

    @Override
    public String toString() {
        return outstanding() + " messages unacknowledged, " + target + " of " + targetMost + " credits at the peer, "
                + completions + " credits and " + freed + " bytes not yet given back";
    }
}
