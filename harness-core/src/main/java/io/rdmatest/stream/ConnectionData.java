package io.rdmatest.stream;

import io.rdmatest.stream.StreamException.Reason;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * What each side tells the other when they connect: 24 bytes in network order, and 16 more in the split mode.
 *
 * <p>Receive ring's address (8), its rkey (8), its size (4), receive credits (2), version (1), reserved (1). Split mode: a
 * mark (4), the send ring's size (4), its address (8); its rkey is that of the receive ring.
 *
 * @param ringAddress where the receive ring begins
 * @param rkey the key to write to it
 * @param ringBytes its size
 * @param credits how many messages may be under way to it
 * @param sendRing where the peer reads in the split mode; null in the others
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
     * What the peer may read.
     *
     * @param address where the send ring begins
     * @param bytes its size
     */
    record SendRing(long address, int bytes) {}

    /** "SPLT": what follows the 24 bytes is zeros where a peer of another mode sent nothing. */
    private static final int SPLIT_MARK = 0x53504c54;

    private static final int VERSION_OFFSET = 22;

    ConnectionData(long ringAddress, long rkey, int ringBytes, int credits) {
        this(ringAddress, rkey, ringBytes, credits, null);
    }

    byte[] encode() {
        // The reserved byte stays 0, where libfabric sends what happened to be there.
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
     * Requires that the peer is in the split mode if this side is, and only then. The data says nothing about the other modes.
     *
     * @throws StreamException if it is not
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

    /** Reads what a peer sent; on InfiniBand and RoCE zeros follow it up to the message's fixed size. */
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
                    "the peer speaks version " + version + " of the stream protocol, this side version " + VERSION
                            + ": it is no stream of this kind, or the two are of different releases");
        }
        ByteBuffer buffer = ByteBuffer.wrap(data);
        long address = buffer.getLong();
        long rkey = buffer.getLong();
        int ring = buffer.getInt();
        int credits = Short.toUnsignedInt(buffer.getShort());
        if (ring < 1 || ring > ControlWord.MOST_BYTES) {
            throw new StreamException(
                    Reason.BAD_CONNECTION_DATA,
                    "the peer's receive ring has " + Integer.toUnsignedLong(ring) + " bytes, but a ring has 1 to "
                            + ControlWord.MOST_BYTES + ", as control messages count bytes in 20 bits");
        }
        if (credits <= Credits.CONTROL || credits / 2 > ControlWord.MOST_CREDITS) {
            throw new StreamException(
                    Reason.BAD_CONNECTION_DATA,
                    "the peer's receive queue has " + credits + " entries, but it needs "
                            + (Credits.CONTROL + 1) + " to " + (2 * ControlWord.MOST_CREDITS + 1)
                            + ", as control messages give half of them back in 9 bits");
        }
        if (rkey >>> Integer.SIZE != 0) {
            throw new StreamException(
                    Reason.BAD_CONNECTION_DATA,
                    "the peer's rkey is 0x" + Long.toHexString(rkey) + ", but the keys of verbs have 32 bits");
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
                    "the peer's send ring has " + Integer.toUnsignedLong(bytes) + " bytes, but a ring has 1 to "
                            + ControlWord.MOST_BYTES);
        }
        return new SendRing(more.getLong(), bytes);
    }
}
