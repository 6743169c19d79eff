package io.rdmatest.stream;

/**
 * Counts the messages that a side may send, and the credits and bytes that it must return to the peer.
 *
 * <p>A message needs an entry of this side's send queue (a transmit credit) and one of the peer's receive queue (a
 * target credit). Two of each are reserved for control messages. So a side that can't send data can still return
 * credits, and two full directions do not deadlock. Not thread-safe.
 */
final class Credits {

    /** The number of credits of each kind that are reserved for control messages. */
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

    /** Sets the size of the peer's receive queue. */
    void connect(int peerReceiveDepth) {
        target = peerReceiveDepth;
        targetMost = peerReceiveDepth;
    }

    // Greater than, not different from: control messages use the target credits below the reserve.
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

    /** Counts an acknowledged message: it refills the reserve first. */
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

    /** Counts a received message, data or control; false if the peer had no credit for it. */
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

    /** Returns how many bytes were copied out but not yet reported to the peer, which may not write there. */
    int notReturned() {
        return freed;
    }

    boolean controlDue() {
        return completions >= dueCredits || freed >= dueBytes;
    }

    /** Returns what is owed to the peer, up to the limits of a word. */
    int takeControlWord() {
        int credits = Math.min(completions, ControlWord.MOST_CREDITS);
        int bytes = freed;
        completions -= credits;
        freed = 0;
        return ControlWord.of(bytes, credits);
    }

    /** Counts credits that the peer returned; false if it returned more than it had received. */
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
                + completions + " credits and " + freed + " bytes not yet returned";
    }
}
