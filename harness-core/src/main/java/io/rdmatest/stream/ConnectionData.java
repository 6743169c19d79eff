package io.rdmatest.stream;

import io.rdmatest.stream.StreamException.Reason;
import java.nio.ByteBuffer;

/**
 * What each side tells the other when they connect: 24 bytes in network order.
 *
 * <p>Receive ring's address (8), its rkey (8), its size (4), receive credits (2), version (1), reserved (1).
 *
 * @param ringAddress where the receive ring begins
 * @param rkey the key to write to it
 * @param ringBytes its size
 * @param credits how many messages may be under way to it
 */
record ConnectionData(long ringAddress, long rkey, int ringBytes, int credits) {

    static final int SIZE = 24;
    static final byte VERSION = 2;

    private static final int VERSION_OFFSET = 22;

    byte[] encode() {
        // The last byte stays 0, where libfabric sends what happened to be there.
        return ByteBuffer.allocate(SIZE)
                .putLong(ringAddress)
                .putLong(rkey)
                .putInt(ringBytes)
                .putShort((short) credits)
                .put(VERSION)
                .array();
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
        return new ConnectionData(address, rkey, ring, credits);
    }
}
