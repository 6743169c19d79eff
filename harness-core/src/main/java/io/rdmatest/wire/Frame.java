package io.rdmatest.wire;

import java.nio.ByteBuffer;
import java.time.Instant;

/**
 * A captured packet.
 *
 * @param time the time of capture
 * @param length its length on the wire in bytes
 * @param bytes the captured bytes, from the header of its link type on; read-only, in network order
 * @param link the type of its first header
 * @param interfaceId the same for packets of one interface of the capture, and for each direction of one where the file has
 *     directions only; -1 if unknown
 */
public record Frame(Instant time, int length, ByteBuffer bytes, LinkType link, long interfaceId) {

    /** Makes the bytes a read-only slice that begins at position 0. */
    public Frame {
        bytes = bytes.slice().asReadOnlyBuffer();
        if (bytes.remaining() > length) {
            throw new IllegalArgumentException(
                    "A packet of " + length + " bytes can't have " + bytes.remaining() + " captured bytes");
        }
    }

    /**
     * Creates a packet that begins with its Ethernet header.
     *
     * @param time the time of capture
     * @param length its length on the wire in bytes
     * @param bytes the captured bytes
     */
    public Frame(Instant time, int length, ByteBuffer bytes) {
        this(time, length, bytes, LinkType.ETHERNET, -1);
    }

    /** Returns whether every byte was captured. */
    public boolean isWhole() {
        return bytes.remaining() == length;
    }
}
