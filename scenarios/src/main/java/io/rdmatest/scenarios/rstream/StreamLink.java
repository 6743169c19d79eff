package io.rdmatest.scenarios.rstream;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/** A connected byte stream of rstream(1), over an rsocket or plain TCP. For one thread. */
interface StreamLink extends AutoCloseable {

    /** A transfer's memory, in the forms for both kinds of socket. */
    record Block(MemorySegment segment, ByteBuffer bytes) {

        static Block of(MemorySegment segment) {
            return new Block(segment, segment.asByteBuffer());
        }

        int size() {
            return bytes.capacity();
        }
    }

    /**
     * Sends a block from an offset on: as many bytes as fit.
     *
     * @return the accepted bytes; 0 if there is no room
     * @throws io.rdmatest.scenarios.engine.ScenarioException PEER_LOST if the connection broke
     */
    int send(Block block, int offset);

    /**
     * Receives into a block from an offset on: the available bytes.
     *
     * @return the received bytes; 0 if there are none; -1 at the end of the stream
     * @throws io.rdmatest.scenarios.engine.ScenarioException PEER_LOST if the connection broke
     */
    int receive(Block block, int offset);

    /**
     * Waits in the kernel for room to send, or for data or the end of the stream, at most a few hundred milliseconds.
     *
     * @return whether the stream is ready; false when the time is over
     */
    boolean poll(boolean toSend);

    /** Ends the sending direction. */
    void endSending();

    /** Returns a text for the peer. */
    String peer();

    @Override
    void close();
}
