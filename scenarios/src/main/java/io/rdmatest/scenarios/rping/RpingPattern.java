package io.rdmatest.scenarios.rping;

import io.rdmatest.scenarios.engine.PayloadMismatchError;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;

/**
 * The text that rping(1) puts into a ping buffer: {@code rdma-ping-<k>: }, then the characters from {@code A} to
 * {@code z} over and over, starting one further with every ping, and a NUL as the last byte of the buffer.
 *
 * <p>The NUL at the end is the only one, because an rping server sizes its RDMA WRITE by the length of the string that
 * it read. Filling and verifying allocate nothing.
 */
public final class RpingPattern {

    /** The smallest buffer in which the header of every 32-bit ping number has room, in bytes. */
    public static final int MIN_SIZE = 23;

    /** The largest buffer that rping(1) accepts, in bytes. */
    public static final int MAX_SIZE = 65535;

    /** The largest buffer between two of ours, in bytes: 1 GiB. */
    public static final int LARGEST_SIZE = 1 << 30;

    private static final int FIRST = 'A';
    private static final int LAST = 'z';
    private static final int PERIOD = LAST - FIRST + 1;

    /** A multiple of the period, so that every piece of a buffer begins with the same character. */
    private static final int PIECE = 1024 * PERIOD;

    /** Enough of the repeating text for a piece at any start. */
    private static final MemorySegment TEXT = MemorySegment.ofArray(text());

    private static final MemorySegment PREFIX = MemorySegment.ofArray("rdma-ping-".getBytes(StandardCharsets.US_ASCII));

    private RpingPattern() {}

    private static byte[] text() {
        byte[] text = new byte[PIECE + PERIOD];
        for (int i = 0; i < text.length; i++) {
            text[i] = (byte) (FIRST + i % PERIOD);
        }
        return text;
    }

    private static int digits(int ping) {
        int digits = 1;
        for (int rest = ping / 10; rest > 0; rest /= 10) {
            digits++;
        }
        return digits;
    }

    /** Returns the digit of a number, counted from the left. */
    private static byte digit(int ping, int digits, int index) {
        int rest = ping;
        for (int i = digits - 1; i > index; i--) {
            rest /= 10;
        }
        return (byte) ('0' + rest % 10);
    }

    private static int headerLength(int digits) {
        return Math.toIntExact(PREFIX.byteSize()) + digits + 2;
    }

    private static byte headerByte(int ping, int digits, int index) {
        int number = index - Math.toIntExact(PREFIX.byteSize());
        if (number < 0) {
            return PREFIX.get(ValueLayout.JAVA_BYTE, index);
        }
        if (number < digits) {
            return digit(ping, digits, number);
        }
        return (byte) (number == digits ? ':' : ' ');
    }

    /**
     * Writes the text of a ping.
     *
     * @param buffer where to write; the whole segment is filled
     * @param ping the number of the ping, from 0
     * @throws IllegalArgumentException if the segment is smaller than {@link #MIN_SIZE} or larger than
     *     {@link #LARGEST_SIZE}, or the number is negative
     */
    public static void fill(MemorySegment buffer, int ping) {
        long size = checkedSize(buffer.byteSize());
        int digits = digits(checkedPing(ping));
        int header = headerLength(digits);
        for (int i = 0; i < header; i++) {
            buffer.set(ValueLayout.JAVA_BYTE, i, headerByte(ping, digits, i));
        }
        int start = ping % PERIOD;
        for (long done = header; done < size; done += PIECE) {
            MemorySegment.copy(TEXT, start, buffer, done, Math.min(PIECE, size - done));
        }
        buffer.set(ValueLayout.JAVA_BYTE, size - 1, (byte) 0);
    }

    /**
     * Verifies every byte of a ping buffer.
     *
     * @param buffer the received buffer
     * @param ping the number of the ping, from 0
     * @param where the side and operation, for the message
     * @throws PayloadMismatchError at the first byte that is not as {@link #fill} writes it
     * @throws IllegalArgumentException as {@link #fill}
     */
    public static void verify(MemorySegment buffer, int ping, String where) {
        verify(buffer, buffer.byteSize(), ping, where);
    }

    static void verify(MemorySegment buffer, long size, int ping, String where) {
        long end = checkedSize(size) - 1;
        int digits = digits(checkedPing(ping));
        int header = headerLength(digits);
        for (int i = 0; i < header; i++) {
            check(buffer, i, headerByte(ping, digits, i), ping, where);
        }
        int start = ping % PERIOD;
        for (long done = header; done < end; done += PIECE) {
            long length = Math.min(PIECE, end - done);
            long wrong = MemorySegment.mismatch(buffer, done, done + length, TEXT, start, start + length);
            if (wrong >= 0) {
                check(buffer, done + wrong, TEXT.get(ValueLayout.JAVA_BYTE, start + wrong), ping, where);
            }
        }
        check(buffer, end, (byte) 0, ping, where);
    }

    private static void check(MemorySegment buffer, long offset, byte expected, int ping, String where) {
        byte actual = buffer.get(ValueLayout.JAVA_BYTE, offset);
        if (actual != expected) {
            throw new PayloadMismatchError(where + ", ping " + ping, offset, expected, actual);
        }
    }

    private static long checkedSize(long size) {
        if (size < MIN_SIZE || size > LARGEST_SIZE) {
            throw new IllegalArgumentException(
                    "A ping buffer has %d to %d bytes, not %d".formatted(MIN_SIZE, LARGEST_SIZE, size));
        }
        return size;
    }

    private static int checkedPing(int ping) {
        if (ping < 0) {
            throw new IllegalArgumentException("Pings are numbered from 0, not " + ping);
        }
        return ping;
    }
}
