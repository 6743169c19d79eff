package io.rdmatest.scenarios.rstream;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/** A connected byte stream, over an rsocket, plain TCP or RDMA WRITE. For one thread. */
public interface StreamLink extends AutoCloseable {

    /** A transfer's memory, in the forms for all kinds of streams. */
    record Block(MemorySegment segment, ByteBuffer bytes) {

        /** Returns the block of a segment. */
        public static Block of(MemorySegment segment) {
            return new Block(segment, segment.asByteBuffer());
        }

        /** Returns its bytes. */
        public int size() {
            return bytes.capacity();
        }
    }

    /**
     * Sends a block from an offset on: as many bytes as fit.
     *
     * @param more whether another block follows at once, with which it may share a message
     * @return the accepted bytes; 0 if there is no room
     * @throws io.rdmatest.scenarios.role.ScenarioException PEER_LOST if the connection broke
     */
    int send(Block block, int offset, boolean more);

    /**
     * Receives into a block from an offset on: the available bytes.
     *
     * @return the received bytes; 0 if there are none; -1 at the end of the stream
     * @throws io.rdmatest.scenarios.role.ScenarioException PEER_LOST if the connection broke
     */
    int receive(Block block, int offset);

    /**
     * Waits in the kernel, at most a few hundred milliseconds.
     *
     * @param toReceive whether to wait for data or the end of the stream
     * @param toSend whether to wait for room to send
     * @return whether the stream is ready; false when the time is over
     */
    boolean poll(boolean toReceive, boolean toSend);

    /** Ends the sending direction. */
    void endSending();

    /** Returns a text for the peer. */
    String peer();

    @Override
    void close();
}
