package io.rdmatest.junit;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * Fill buffers with bytes that are known beforehand, and prove that they arrived.
 *
 * <p>A pattern is an endless sequence of pseudo-random bytes that depends on a seed. Its period is a prime number of
 * bytes, so that data that landed a page, a block or a message too early or too late differs. A pattern is immutable and
 * may be used by several threads. As long as the data is right, filling and verifying allocate nothing.
 */
public final class DataPattern {

    private static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;
    private static final int PERIOD = 65_521;
    private static final int SHOWN = 16;

    private final long seed;
    private final MemorySegment block;

    private DataPattern(long seed) {
        this.seed = seed;
        byte[] bytes = new byte[PERIOD];
        new SplittableRandom(seed).nextBytes(bytes);
        this.block = MemorySegment.ofArray(bytes);
    }

    /**
     * Make the pattern of a seed. Equal seeds make equal patterns, in every process.
     *
     * @param seed any number; give each direction, message or round its own, so that one can't pass for another
     * @return the pattern; never null
     */
    public static DataPattern of(long seed) {
        return new DataPattern(seed);
    }

    /**
     * Fill a segment with the beginning of the pattern.
     *
     * @param target what to fill, may be empty; never null
     */
    public void fill(MemorySegment target) {
        fill(target, 0);
    }

    /**
     * Fill a segment with a part of the pattern.
     *
     * @param target what to fill, may be empty; never null
     * @param position which byte of the pattern comes first, at least 0
     */
    public void fill(MemorySegment target, long position) {
        long size = target.byteSize();
        for (long done = 0; done < size; ) {
            long from = Math.floorMod(position + done, PERIOD);
            long length = Math.min(PERIOD - from, size - done);
            MemorySegment.copy(block, from, target, done, length);
            done += length;
        }
    }

    /**
     * Prove that a segment holds the beginning of the pattern.
     *
     * @param actual what arrived, may be empty; never null
     * @throws AssertionError if a byte differs; it names the first offset, what was expected there and what was found, and
     *     how many bytes differ
     */
    public void verify(MemorySegment actual) {
        verify(actual, 0);
    }

    /**
     * Prove that a segment holds a part of the pattern.
     *
     * @param actual what arrived, may be empty; never null
     * @param position which byte of the pattern must come first, at least 0
     * @throws AssertionError if a byte differs; it names the first offset, what was expected there and what was found, and
     *     how many bytes differ
     */
    public void verify(MemorySegment actual, long position) {
        long offset = mismatch(actual, position, 0);
        if (offset >= 0) {
            throw new AssertionError(describe(actual, position, offset));
        }
    }

    /**
     * Find the first byte that differs from a part of the pattern.
     *
     * @param actual what arrived, may be empty; never null
     * @param position which byte of the pattern must come first, at least 0
     * @return its offset in the segment, or -1 if none differs
     */
    public long mismatch(MemorySegment actual, long position) {
        return mismatch(actual, position, 0);
    }

    private long mismatch(MemorySegment actual, long position, long start) {
        long size = actual.byteSize();
        for (long done = start; done < size; ) {
            long from = Math.floorMod(position + done, PERIOD);
            long length = Math.min(PERIOD - from, size - done);
            long offset = MemorySegment.mismatch(block, from, from + length, actual, done, done + length);
            if (offset >= 0) {
                return done + offset;
            }
            done += length;
        }
        return -1;
    }

    private String describe(MemorySegment actual, long position, long first) {
        long count = 0;
        long last = first;
        for (long offset = first; offset >= 0; offset = mismatch(actual, position, offset + 1)) {
            count++;
            last = offset;
        }
        long size = actual.byteSize();
        long until = Math.min(size, first + SHOWN);
        StringBuilder expectedBytes = new StringBuilder();
        StringBuilder actualBytes = new StringBuilder();
        for (long offset = first; offset < until; offset++) {
            expectedBytes.append(String.format(Locale.ROOT, " %02x", expected(position + offset)));
            actualBytes.append(String.format(Locale.ROOT, " %02x", actual.get(BYTE, offset)));
        }
        return String.format(
                Locale.ROOT,
                "data differs at offset %d of %d bytes: expected 0x%02x, actual 0x%02x; %s (pattern of seed %d from byte %d)%n"
                        + "  expected from there:%s%n  actual from there:  %s",
                first,
                size,
                expected(position + first),
                actual.get(BYTE, first),
                count == 1 ? "no other byte differs" : count + " bytes differ, the last at offset " + last,
                seed,
                position,
                expectedBytes,
                actualBytes.toString().stripLeading());
    }

    private byte expected(long position) {
        return block.get(BYTE, Math.floorMod(position, PERIOD));
    }

    /**
     * Name the pattern.
     *
     * @return the seed in words
     */
    @Override
    public String toString() {
        return "pattern of seed " + seed;
    }
}
