package io.rdmatest.scenarios.engine;

import io.rdmatest.Cause;

/**
 * Signals that received data differs from the sent data.
 */
public final class PayloadMismatchError extends AssertionError implements Cause.Carrier {

    private static final long serialVersionUID = 1L;

    private final long offset;
    private final int expected;
    private final int actual;

    /**
     * Describes the first wrong byte.
     *
     * @param what the data that was verified, such as {@code "ping 3 at the client"}
     * @param offset the offset of the first wrong byte, in bytes from the start of that data
     * @param expected the byte that was sent
     * @param actual the byte that was received
     */
    public PayloadMismatchError(String what, long offset, byte expected, byte actual) {
        super("%s: wrong byte at offset %d: expected 0x%02x, actual 0x%02x"
                .formatted(what, offset, expected & 0xff, actual & 0xff));
        this.offset = offset;
        this.expected = expected & 0xff;
        this.actual = actual & 0xff;
    }

    @Override
    public Cause rdmaCause() {
        return Cause.WRONG_DATA;
    }

    /** Returns the offset of the first wrong byte, in bytes from the start of the verified data. */
    public long offset() {
        return offset;
    }

    /** Returns the sent byte, 0 to 255. */
    public int expected() {
        return expected;
    }

    /** Returns the received byte, 0 to 255. */
    public int actual() {
        return actual;
    }
}
