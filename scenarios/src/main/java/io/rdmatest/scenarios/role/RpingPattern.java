package io.rdmatest.scenarios.role;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;

/**
 * The text that rping(1) puts into a ping buffer: {@code rdma-ping-<k>: }, then the characters from {@code A} to
 * {@code z} over and over, starting one further with every ping, and a NUL as the last byte of the buffer.
 *
 * <p>The NUL at the end is the only one, because an rping server sizes its RDMA WRITE by the length of the string that
 * it read.
 */
public final class RpingPattern {

    /** The smallest buffer in which the header of every 32-bit ping number has room, in bytes. */
    public static final int MIN_SIZE = 23;

    /** The largest buffer that rping(1) accepts, in bytes. */
    public static final int MAX_SIZE = 65535;

    private static final int FIRST = 'A';
    private static final int LAST = 'z';
    private static final int PERIOD = LAST - FIRST + 1;

    /** Enough of the repeating text for the largest buffer at any start, so that filling is one copy. */
    private static final MemorySegment TEXT = MemorySegment.ofArray(text());

    private RpingPattern() {}

    private static byte[] text() {
        byte[] text = new byte[MAX_SIZE + PERIOD];
        for (int i = 0; i < text.length; i++) {
            text[i] = (byte) (FIRST + i % PERIOD);
        }
        return text;
    }

    private static byte[] header(int ping) {
        return ("rdma-ping-" + ping + ": ").getBytes(StandardCharsets.US_ASCII);
    }

    private static int textStart(int ping) {
        return Integer.remainderUnsigned(ping, PERIOD);
    }

    /**
     * Writes the text of a ping.
     *
     * @param buffer where to write; the whole segment is filled
     * @param ping the number of the ping, from 0
     * @throws IllegalArgumentException if the segment is smaller than {@link #MIN_SIZE} or larger than {@link #MAX_SIZE}
     */
    public static void fill(MemorySegment buffer, int ping) {
        int size = checkedSize(buffer.byteSize());
        byte[] header = header(ping);
        MemorySegment.copy(header, 0, buffer, ValueLayout.JAVA_BYTE, 0, header.length);
        MemorySegment.copy(TEXT, textStart(ping), buffer, header.length, size - header.length);
        buffer.set(ValueLayout.JAVA_BYTE, size - 1L, (byte) 0);
    }

    /**
     * Verifies every byte of a ping buffer.
     *
     * @param buffer the received buffer
     * @param ping the number of the ping, from 0
     * @param where the side and operation, for the message
     * @throws PayloadMismatchError at the first byte that is not as {@link #fill} writes it
     */
    public static void verify(MemorySegment buffer, int ping, String where) {
        int size = checkedSize(buffer.byteSize());
        byte[] header = header(ping);
        for (int i = 0; i < header.length; i++) {
            check(buffer, i, header[i], ping, where);
        }
        long textEnd = size - 1L;
        long length = textEnd - header.length;
        long wrong =
                MemorySegment.mismatch(buffer, header.length, textEnd, TEXT, textStart(ping), textStart(ping) + length);
        if (wrong >= 0) {
            check(buffer, header.length + wrong, TEXT.get(ValueLayout.JAVA_BYTE, textStart(ping) + wrong), ping, where);
        }
        check(buffer, textEnd, (byte) 0, ping, where);
    }

    private static void check(MemorySegment buffer, long offset, byte expected, int ping, String where) {
        byte actual = buffer.get(ValueLayout.JAVA_BYTE, offset);
        if (actual != expected) {
            throw new PayloadMismatchError(where + ", ping " + ping, offset, expected, actual);
        }
    }

    /**
     * Returns how many bytes an rping server writes back: the length of the string in the buffer, and its NUL.
     *
     * @param buffer the buffer that the server has read
     * @return the length of the RDMA WRITE in bytes; the size of the buffer if there is no NUL in it
     */
    public static int stringLength(MemorySegment buffer) {
        int size = Math.toIntExact(buffer.byteSize());
        for (int i = 0; i < size; i++) {
            if (buffer.get(ValueLayout.JAVA_BYTE, i) == 0) {
                return i + 1;
            }
        }
        return size;
    }

    static int checkedSize(long size) {
        if (size < MIN_SIZE || size > MAX_SIZE) {
            throw new IllegalArgumentException(
                    "A ping buffer has %d to %d bytes, not %d".formatted(MIN_SIZE, MAX_SIZE, size));
        }
        return (int) size;
    }
}
