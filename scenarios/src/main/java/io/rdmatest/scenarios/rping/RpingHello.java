package io.rdmatest.scenarios.rping;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Optional;

/**
 * What two of ours tell each other in the private data of a request, of its answer and of its rejection.
 *
 * <p>rping(1) sends no private data and looks at none, so that this changes nothing between it and us. The 20 bytes, in
 * network byte order: the letters {@code rdpg}, version, kind, two bytes of zero, size in 8 bytes, count in 4.
 *
 * @param kind what it is about
 * @param sizeBytes the size of the pings to come; of a rejection the largest size that the server takes
 * @param count how many pings are to come, 0 for no end; 0 of a server
 */
record RpingHello(Kind kind, long sizeBytes, int count) {

    /** What a hello is about. */
    enum Kind {
        /** A client says what it is going to do. */
        REQUEST,
        /** A server takes it. */
        ACCEPTED,
        /** A server's buffer is smaller than the pings. */
        SIZE_REFUSED,
        /** A persistent server serves as many clients as it may. */
        TOO_MANY_CLIENTS
    }

    static final int SIZE = 20;

    private static final int MAGIC = 0x72647067;
    private static final byte VERSION = 1;
    private static final Kind[] KINDS = Kind.values();
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    byte[] toBytes() {
        byte[] bytes = new byte[SIZE];
        MemorySegment segment = MemorySegment.ofArray(bytes);
        segment.set(INT, 0, MAGIC);
        segment.set(ValueLayout.JAVA_BYTE, 4, VERSION);
        segment.set(ValueLayout.JAVA_BYTE, 5, (byte) kind.ordinal());
        segment.set(LONG, 8, sizeBytes);
        segment.set(INT, 16, count);
        return bytes;
    }

    /** Reads private data; empty if it is not one of ours, or one of a version that this one does not know. */
    static Optional<RpingHello> read(byte[] privateData) {
        if (privateData.length < SIZE) {
            return Optional.empty();
        }
        MemorySegment segment = MemorySegment.ofArray(privateData);
        int kind = segment.get(ValueLayout.JAVA_BYTE, 5);
        if (segment.get(INT, 0) != MAGIC
                || segment.get(ValueLayout.JAVA_BYTE, 4) != VERSION
                || kind < 0
                || kind >= KINDS.length) {
            return Optional.empty();
        }
        return Optional.of(new RpingHello(KINDS[kind], segment.get(LONG, 8), segment.get(INT, 16)));
    }
}
