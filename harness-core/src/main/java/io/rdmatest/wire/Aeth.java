package io.rdmatest.wire;

/**
 * The acknowledge extended transport header, section 9.3.5.
 *
 * @param syndrome the syndrome field, 0 to 255
 * @param messageSequence the message sequence number: how many messages the responder has completed, 24 bits
 */
public record Aeth(int syndrome, int messageSequence) {

    /** The kinds of acknowledgement. */
    public enum Type {
        /** The request, and all before it, arrived. */
        ACK,
        /** The receiver is not ready: no receive is posted. */
        RNR_NAK,
        /** A reserved value. */
        RESERVED,
        /** The request failed. */
        NAK
    }

    private static final int TYPE_SHIFT = 5;
    private static final int TYPE_MASK = 3;
    private static final int VALUE_MASK = 0x1f;

    /** Returns the kind of acknowledgement. */
    public Type type() {
        return Type.values()[syndrome >> TYPE_SHIFT & TYPE_MASK];
    }

    /** Returns whether the responder reports a missing packet, which the requester must send again. */
    public boolean isSequenceError() {
        return type() == Type.NAK && (syndrome & VALUE_MASK) == 0;
    }

    /** Returns the kind as text, such as {@code NAK: remote access error}. */
    public String text() {
        int value = syndrome & VALUE_MASK;
        return switch (type()) {
            case ACK -> "ACK";
            case RNR_NAK -> "RNR NAK";
            case RESERVED -> "reserved syndrome 0x%02x".formatted(syndrome);
            case NAK ->
                switch (value) {
                    case 0 -> "NAK: PSN sequence error";
                    case 1 -> "NAK: invalid request";
                    case 2 -> "NAK: remote access error";
                    case 3 -> "NAK: remote operational error";
                    case 4 -> "NAK: invalid RD request";
                    default -> "NAK: code " + value;
                };
        };
    }
}
