package io.rdmatest.scenarios.rstream;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/** A connected byte stream as rstream(1) uses one, over an rsocket or plain TCP. Of one thread. */
interface StreamLink extends AutoCloseable {

    /** What is sent or received at a time, as both kinds of socket want it. */
    record Block(MemorySegment segment, ByteBuffer bytes) {

        static Block of(MemorySegment segment) {
            return new Block(segment, segment.asByteBuffer());
        }

        int size() {
            return bytes.capacity();
        }
    }

    /**
     * Sends a block from an offset on: as much as there is room for.
     *
     * @return the bytes taken; 0 if there was no room
     * @throws io.rdmatest.scenarios.engine.ScenarioException PEER_LOST if the connection broke
     */
    int send(Block block, int offset);

    /**
     * Receives into a block from an offset on: as much as there is.
     *
     * @return the bytes received; 0 if there were none; -1 at the end of the stream
     * @throws io.rdmatest.scenarios.engine.ScenarioException PEER_LOST if the connection broke
     */
    int receive(Block block, int offset);

    /**
     * Waits in the kernel for room to send, or for data or the end of the stream, at most a few hundred milliseconds.
     *
     * @return whether something came; false when the time is over
     */
    boolean poll(boolean toSend);

    /** Tells the peer that nothing more will be sent. */
    void endSending();

    /** Who is at the other end. */
    String peer();

    @Override
    void close();
}
