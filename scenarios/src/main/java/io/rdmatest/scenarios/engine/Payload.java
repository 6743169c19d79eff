package io.rdmatest.scenarios.engine;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;

/**
 * Payload data that differs between messages and directions, and that both sides can compute.
 *
 * <p>Every message is a window into one fixed pseudo-random table whose length is prime, so that a shifted, stale or
 * foreign message differs within its first bytes. Filling and verifying allocate nothing.
 */
public final class Payload {

    private static final int PERIOD = 32_749;
    private static final int STEP = 1_009;
    private static final MemorySegment TABLE = MemorySegment.ofArray(table());

    private Payload() {}

    private static byte[] table() {
        byte[] random = new byte[PERIOD];
        new SplittableRandom(0x72646d61L).nextBytes(random);
        byte[] twice = new byte[2 * PERIOD];
        System.arraycopy(random, 0, twice, 0, PERIOD);
        System.arraycopy(random, 0, twice, PERIOD, PERIOD);
        return twice;
    }

    private static long start(long message) {
        return Math.floorMod(message * STEP, (long) PERIOD);
    }

    /**
     * Writes the data of a message.
     *
     * @param buffer the message, filled from start to end
     * @param message its number; use different numbers for the two directions
     */
    public static void fill(MemorySegment buffer, long message) {
        long size = buffer.byteSize();
        long start = start(message);
        for (long done = 0; done < size; done += PERIOD) {
            MemorySegment.copy(TABLE, start, buffer, done, Math.min(PERIOD, size - done));
        }
    }

    /**
     * Verifies every byte of a message.
     *
     * @param buffer the received bytes
     * @param message its number
     * @param where the side and operation, for the message of a failure
     * @throws PayloadMismatchError at the first byte that differs from {@link #fill}
     */
    public static void verify(MemorySegment buffer, long message, String where) {
        verify(buffer, message, message, where);
    }

    /**
     * Verifies every byte of a message whose number in messages differs from the number of its data.
     *
     * @param buffer the received bytes
     * @param datum the number that it was filled with
     * @param message its number for the message of a failure
     * @param where the side and operation, for the message of a failure
     * @throws PayloadMismatchError at the first byte that differs from {@link #fill}
     */
    public static void verify(MemorySegment buffer, long datum, long message, String where) {
        long size = buffer.byteSize();
        long start = start(datum);
        for (long done = 0; done < size; done += PERIOD) {
            long length = Math.min(PERIOD, size - done);
            long wrong = MemorySegment.mismatch(TABLE, start, start + length, buffer, done, done + length);
            if (wrong >= 0) {
                throw new PayloadMismatchError(
                        where + ", message " + message,
                        done + wrong,
                        TABLE.get(ValueLayout.JAVA_BYTE, start + wrong),
                        buffer.get(ValueLayout.JAVA_BYTE, done + wrong));
            }
        }
    }

    /** Returns whether every byte of a message equals that of {@link #fill}. */
    public static boolean isIntact(MemorySegment buffer, long message) {
        long size = buffer.byteSize();
        long start = start(message);
        for (long done = 0; done < size; done += PERIOD) {
            long length = Math.min(PERIOD, size - done);
            if (MemorySegment.mismatch(TABLE, start, start + length, buffer, done, done + length) >= 0) {
                return false;
            }
        }
        return true;
    }

    /** Returns the byte at an offset of a message. */
    public static byte at(long message, long offset) {
        return TABLE.get(ValueLayout.JAVA_BYTE, start(message) + offset % PERIOD);
    }
}
