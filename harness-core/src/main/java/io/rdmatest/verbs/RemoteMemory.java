package io.rdmatest.verbs;

import java.util.Objects;

/**
 * Memory of a peer: what a queue pair has to know of it to write or read it.
 *
 * @param address the address of the first byte, as the peer names it
 * @param rkey the key for remote access, in host order
 * @param length bytes
 */
public record RemoteMemory(long address, int rkey, long length) {

    /**
     * Checks the length.
     *
     * @throws IllegalArgumentException if it is negative
     */
    public RemoteMemory {
        if (length < 0) {
            throw new IllegalArgumentException("the length " + length + " is negative");
        }
    }

    /**
     * Returns a part of it.
     *
     * @param offset where the part begins
     * @param length bytes
     * @throws IndexOutOfBoundsException outside of this memory
     */
    public RemoteMemory slice(long offset, long length) {
        return new RemoteMemory(address + Objects.checkFromIndexSize(offset, length, this.length), rkey, length);
    }

    /** Returns the length of a message that carries all of it. */
    int messageLength() {
        if (length > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("the remote memory has " + length
                    + " bytes, and a message has at most 2147483647: take a slice of it");
        }
        return (int) length;
    }
}
