package io.rdmatest.scenarios.rping;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * The 16-byte message of rping(1): the address, key and length of a buffer, all in network byte order.
 *
 * @param address the virtual address of the advertised buffer
 * @param rkey its remote key
 * @param length its length in bytes, unsigned
 */
public record RpingMessage(long address, int rkey, int length) {

    /** The size of the message on the wire, in bytes. */
    public static final int SIZE = 16;

    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    /** Writes this message to the first {@link #SIZE} bytes of a segment. */
    public void writeTo(MemorySegment target) {
        write(target, address, rkey, length);
    }

    static void write(MemorySegment target, long address, int rkey, int length) {
        target.set(LONG, 0, address);
        target.set(INT, 8, rkey);
        target.set(INT, 12, length);
    }

    /** Returns this message as bytes, for instance as private data of a connection request. */
    public byte[] toBytes() {
        byte[] bytes = new byte[SIZE];
        writeTo(MemorySegment.ofArray(bytes));
        return bytes;
    }

    /**
     * Reads a message from the first {@link #SIZE} bytes of a segment.
     *
     * @throws IndexOutOfBoundsException if the segment is shorter
     */
    public static RpingMessage readFrom(MemorySegment source) {
        return new RpingMessage(addressIn(source), rkeyIn(source), lengthIn(source));
    }

    static long addressIn(MemorySegment source) {
        return source.get(LONG, 0);
    }

    static int rkeyIn(MemorySegment source) {
        return source.get(INT, 8);
    }

    static int lengthIn(MemorySegment source) {
        return source.get(INT, 12);
    }
}
