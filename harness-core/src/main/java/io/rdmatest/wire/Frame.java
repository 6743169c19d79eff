package io.rdmatest.wire;

import java.nio.ByteBuffer;
import java.time.Instant;

/**
 * A packet as it was captured.
 *
 * @param time when it passed
 * @param length its length on the wire in bytes
 * @param bytes those that were kept, from the header of its link type; read-only, in network order
 * @param link which header it begins with
 * @param interfaceId the interface that it passed, as the file numbers it; -1 if the file does not tell
 */
public record Frame(Instant time, int length, ByteBuffer bytes, LinkType link, int interfaceId) {

    /** Makes the bytes read-only, and their own from the first one on. */
    public Frame {
        bytes = bytes.slice().asReadOnlyBuffer();
        if (bytes.remaining() > length) {
            throw new IllegalArgumentException(
                    "A packet of " + length + " bytes can't have " + bytes.remaining() + " captured ones");
        }
    }

    /**
     * Creates a packet that begins with its Ethernet header.
     *
     * @param time when it passed
     * @param length its length on the wire in bytes
     * @param bytes those that were kept
     */
    public Frame(Instant time, int length, ByteBuffer bytes) {
        this(time, length, bytes, LinkType.ETHERNET, -1);
    }

    /** Tells whether every byte was kept. */
    public boolean isWhole() {
        return bytes.remaining() == length;
    }
}
