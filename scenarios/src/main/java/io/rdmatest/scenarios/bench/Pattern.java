package io.rdmatest.scenarios.bench;

import io.rdmatest.scenarios.bench.QueuePairs.End;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** The data of a measurement: what is wrong afterwards was not moved, whatever the completions said. */
final class Pattern {

    private Pattern() {}

    /**
     * Fills what goes out with a pattern, and what comes in with its absence.
     *
     * @param end whose memory
     * @param size bytes of a message
     * @param seed which pattern
     */
    static void fill(End end, int size, int seed) {
        MemorySegment memory = end.memory().bytes();
        for (int i = 0; i < size; i++) {
            memory.set(ValueLayout.JAVA_BYTE, i, at(i, seed));
        }
        memory.asSlice(end.incoming(), size).fill((byte) 0);
    }

    /**
     * Requires that a pattern came in.
     *
     * @param end whose memory
     * @param size how many bytes of it are looked at
     * @param seed which pattern
     * @throws AssertionError if a byte is another
     */
    static void require(End end, int size, int seed) {
        MemorySegment memory = end.memory().bytes();
        for (int i = 0; i < size; i++) {
            byte got = memory.get(ValueLayout.JAVA_BYTE, end.incoming() + i);
            if (got != at(i, seed)) {
                throw new AssertionError("Byte %d of the message that came last is 0x%02x instead of 0x%02x"
                        .formatted(i, got & 0xff, at(i, seed) & 0xff));
            }
        }
    }

    /** Without 0, which is what memory has that nothing came into. */
    private static byte at(int index, int seed) {
        return (byte) ((index * 31 + seed * 97) % 255 + 1);
    }
}
