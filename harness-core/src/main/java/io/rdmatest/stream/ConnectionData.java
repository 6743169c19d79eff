package io.rdmatest.stream;

import io.rdmatest.stream.StreamException.Reason;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * The private data that each side sends when it connects: 24 bytes in network order, and 16 more in split mode.
 *
 * <p>The 24 bytes are the receive ring's address (8), its rkey (8), its size (4), the receive credits (2), the version (1) and a
 * reserved byte (1). Split mode adds a mark (4), the send ring's size (4) and its address (8). The send ring has the rkey of the
 * receive ring.
 *
 * @param ringAddress the address of the receive ring
 * @param rkey the key to write to it
 * @param ringBytes the size of the receive ring in bytes
 * @param credits how many messages to the receive ring may be outstanding
 * @param sendRing the ring that the peer reads in split mode; null in other modes
 */
record ConnectionData(
        long ringAddress,
        long rkey,
        int ringBytes,
        int credits,
        @Nullable SendRing sendRing) {

    static final int SIZE = 24;
    static final int SPLIT_SIZE = 40;
    static final byte VERSION = 2;

    /**
     * The memory that the peer may read.
     *
     * @param address the address of the send ring
     * @param bytes its size in bytes
     */
    record SendRing(long address, int bytes) {}

    /** "SPLT" after the 24 bytes marks split mode; in other modes zeros follow. */
    private static final int SPLIT_MARK = 0x53504c54;

    private static final int VERSION_OFFSET = 22;

    ConnectionData(long ringAddress, long rkey, int ringBytes, int credits) {
        this(ringAddress, rkey, ringBytes, credits, null);
    }

    byte[] encode() {
        // The reserved byte stays 0. libfabric does not initialise it.
        ByteBuffer data = ByteBuffer.allocate(sendRing == null ? SIZE : SPLIT_SIZE)
                .putLong(ringAddress)
                .putLong(rkey)
                .putInt(ringBytes)
                .putShort((short) credits)
                .put(VERSION)
                .put((byte) 0);
        if (sendRing != null) {
            ByteBuffer ignored =
                    data.putInt(SPLIT_MARK).putInt(sendRing.bytes()).putLong(sendRing.address());
        }
        return data.array();
    }

    /**
     * Requires that both sides are in split mode or neither is. The data does not distinguish the other modes.
     *
     * @throws StreamException if only one side is in split mode
     */
    void requireMode(StreamMode mode) {
        boolean split = mode == StreamMode.SPLIT;
        if (split != (sendRing != null)) {
            throw new StreamException(
                    Reason.BAD_CONNECTION_DATA,
                    "the peer " + (split ? "does not use" : "uses") + " the mode " + StreamMode.SPLIT
                            + ", this side uses " + mode + ": both sides need the same mode");
        }
    }

    /** Decodes a peer's data; on InfiniBand and RoCE it is padded with zeros to a fixed size. */
    static ConnectionData decode(byte[] data) {
        if (data.length < SIZE) {
            throw new StreamException(
                    Reason.BAD_CONNECTION_DATA,
                    "the peer's connection data has " + data.length + " bytes instead of " + SIZE
                            + ": it is not a stream of this kind");
        }
        int version = Byte.toUnsignedInt(data[VERSION_OFFSET]);
        if (version != VERSION) {
            throw new StreamException(
                    Reason.VERSION_MISMATCH,
                    "the peer has version " + version + " of the stream protocol, this side version " + VERSION
                            + ": it is not a stream of this kind, or the two releases differ");
        }
        ByteBuffer buffer = ByteBuffer.wrap(data);
        long address = buffer.getLong();
        long rkey = buffer.getLong();
        int ring = buffer.getInt();
        int credits = Short.toUnsignedInt(buffer.getShort());
        if (ring < 1 || ring > ControlWord.MOST_BYTES) {
            throw new StreamException(
                    Reason.BAD_CONNECTION_DATA,
                    "the peer's receive ring has " + Integer.toUnsignedLong(ring) + " bytes, but must have 1 to "
                            + ControlWord.MOST_BYTES + ": control messages count bytes in 20 bits");
        }
        if (credits <= Credits.CONTROL || credits / 2 > ControlWord.MOST_CREDITS) {
            throw new StreamException(
                    Reason.BAD_CONNECTION_DATA,
                    "the peer's receive queue has " + credits + " entries, but must have " + (Credits.CONTROL + 1)
                            + " to " + (2 * ControlWord.MOST_CREDITS + 1) + ": control messages return half of them"
                            + " in 9 bits");
        }
        if (rkey >>> Integer.SIZE != 0) {
            throw new StreamException(
                    Reason.BAD_CONNECTION_DATA,
                    "the peer's rkey is 0x" + Long.toHexString(rkey) + ", but verbs keys have 32 bits");
        }
        return new ConnectionData(address, rkey, ring, credits, sendRing(data));
    }

    private static @Nullable SendRing sendRing(byte[] data) {
        ByteBuffer more = ByteBuffer.wrap(data).position(SIZE);
        if (data.length < SPLIT_SIZE || more.getInt() != SPLIT_MARK) {
            return null;
        }
        int bytes = more.getInt();
        if (bytes < 1 || bytes > ControlWord.MOST_BYTES) {
            throw new StreamException(
                    Reason.BAD_CONNECTION_DATA,
                    "the peer's send ring has " + Integer.toUnsignedLong(bytes) + " bytes, but must have 1 to "
                            + ControlWord.MOST_BYTES);
        }
        return new SendRing(more.getLong(), bytes);
    }
}
