package io.rdmatest.scenarios.engine;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A running 8-bit counter over a stream of bytes, the verify pattern of rstream(1): the first byte is 0, each further
 * one is one more than the last, modulo 256. It is never reset within a stream.
 *
 * <p>One instance follows one direction of one stream. It is not safe for use by several threads.
 */
public final class CounterPattern {

    private static final int PERIOD = 256;

    /** The size of the table, which repeats the period; long runs are copied and compared with it. */
    private static final int RUN = 64 * 1024;

    private static final MemorySegment TABLE = MemorySegment.ofArray(table());

    private long position;

    private static byte[] table() {
        byte[] table = new byte[RUN + PERIOD];
        for (int i = 0; i < table.length; i++) {
            table[i] = (byte) i;
        }
        return table;
    }

    /** Creates a pattern at the first byte of a stream. */
    public CounterPattern() {
        this(0);
    }

    /**
     * Creates a pattern at a position of a stream.
     *
     * @param position the number of earlier bytes, at least 0
     */
    public CounterPattern(long position) {
        if (position < 0) {
            throw new IllegalArgumentException("The position in a stream must not be negative: " + position);
        }
        this.position = position;
    }

    /** Returns the number of bytes so far. */
    public long position() {
        return position;
    }

    /**
     * Fills a segment with the next bytes of the stream.
     *
     * @param buffer the segment, filled from its start to its end
     */
    public void fill(MemorySegment buffer) {
        long size = buffer.byteSize();
        for (long done = 0; done < size; ) {
            long run = Math.min(RUN, size - done);
            MemorySegment.copy(TABLE, (position + done) % PERIOD, buffer, done, run);
            done += run;
        }
        position += size;
    }

    /**
     * Verifies that a segment holds the next bytes of the stream.
     *
     * @param buffer the segment, verified from its start to its end
     * @param where the side and stream, for the message
     * @throws PayloadMismatchError at the first wrong byte, with its offset in the stream
     */
    public void verify(MemorySegment buffer, String where) {
        long size = buffer.byteSize();
        for (long done = 0; done < size; ) {
            long run = Math.min(RUN, size - done);
            long start = (position + done) % PERIOD;
            long wrong = MemorySegment.mismatch(buffer, done, done + run, TABLE, start, start + run);
            if (wrong >= 0) {
                long offset = position + done + wrong;
                throw new PayloadMismatchError(
                        where, offset, (byte) offset, buffer.get(ValueLayout.JAVA_BYTE, done + wrong));
            }
            done += run;
        }
        position += size;
    }
}
