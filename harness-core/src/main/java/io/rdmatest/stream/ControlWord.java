package io.rdmatest.stream;

/**
 * The 32 bits of a control message. Bits 0 to 19 count the bytes freed in its sender's receive ring. Bits 20 to 28
 * count the returned receive credits. Bit 31 marks the word that follows data in iWARP mode; its other bits are the
 * data's length. libfabric does not use bits 29 and 30; split mode does. Bit 29 announces that the next bytes of the
 * stream, as many as bits 0 to 19 say, must be read from the send ring. Bit 30 reports that so many bytes were read. A
 * word of 0 means data in immediate mode and is never a control message.
 */
final class ControlWord {

    static final int MOST_BYTES = (1 << 20) - 1;
    static final int MOST_CREDITS = (1 << 9) - 1;

    private static final int CREDIT_SHIFT = 20;
    private static final int PULL = 1 << 29;
    private static final int PULLED = 1 << 30;
    private static final int DATA = 1 << 31;

    private ControlWord() {}

    static int of(int bytes, int credits) {
        if (bytes < 0 || bytes > MOST_BYTES || credits < 0 || credits > MOST_CREDITS || (bytes | credits) == 0) {
            throw new IllegalArgumentException(
                    "a control word can't hold " + bytes + " bytes and " + credits + " credits");
        }
        return credits << CREDIT_SHIFT | bytes;
    }

    static int bytes(int word) {
        return word & MOST_BYTES;
    }

    static int credits(int word) {
        return word >>> CREDIT_SHIFT & MOST_CREDITS;
    }

    /** Returns whether all reserved bits are 0. */
    static boolean isControl(int word) {
        return word >>> 29 == 0 && word != 0;
    }

    static int ofPull(int bytes) {
        return PULL | bytes;
    }

    static boolean isPull(int word) {
        return word >>> CREDIT_SHIFT == PULL >>> CREDIT_SHIFT;
    }

    static int ofPulled(int bytes) {
        return PULLED | bytes;
    }

    static boolean isPulled(int word) {
        return word >>> CREDIT_SHIFT == PULLED >>> CREDIT_SHIFT;
    }

    static int ofData(int bytes) {
        return DATA | bytes;
    }

    static boolean isData(int word) {
        return word < 0;
    }

    static int dataBytes(int word) {
        return word & ~DATA;
    }
}
