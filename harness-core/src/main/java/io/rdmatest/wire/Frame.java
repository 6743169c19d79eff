package io.rdmatest.wire;

import java.nio.ByteBuffer;
import java.time.Instant;

/**
 * A packet as it was captured.
 *
 * @param time when it passed
 * @param length its length on the wire in bytes
 * @param bytes those that were kept, from the Ethernet header; read-only, in network order
 */
public record Frame(Instant time, int length, ByteBuffer bytes) {

    /** Makes the bytes read-only, and their own from the first one on. */
    public Frame {
        bytes = bytes.slice().asReadOnlyBuffer();
        if (bytes.remaining() > length) {
            throw new IllegalArgumentException(
                    "A packet of " + length + " bytes can't have " + bytes.remaining() + " captured ones");
        }
    }

    /** Tells whether every byte was kept. */
    public boolean isWhole() {
        return bytes.remaining() == length;
    }
}
