package io.rdmatest.stream;

import java.util.Objects;

/**
 * The sizes of a stream's rings and queues, fi_rstream(7).
 *
 * <p>Only the mode must be the same on both sides: each side sends the size of its receive ring and queue to the other.
 *
 * @param sendBufferBytes the size of the ring that data is copied to before it is written to the peer, {@value
 *     #LEAST_BUFFER_BYTES} to {@value #MOST_BUFFER_BYTES}
 * @param receiveBufferBytes the size of the ring that the peer writes to, {@value #LEAST_BUFFER_BYTES} to {@value
 *     #MOST_BUFFER_BYTES}: a control message counts freed bytes in 20 bits
 * @param sendQueueDepth the most outstanding messages, {@value #LEAST_DEPTH} to {@value #MOST_SEND_DEPTH}; 2 of them
 *     are reserved for control messages
 * @param receiveQueueDepth the peer's most outstanding messages, {@value #LEAST_DEPTH} to {@value #MOST_RECEIVE_DEPTH}:
 *     a control message returns half of them in 9 bits
 * @param mode how data gets to the receiver
 */
public record StreamOptions(
        int sendBufferBytes, int receiveBufferBytes, int sendQueueDepth, int receiveQueueDepth, StreamMode mode) {

    /** The smallest ring in bytes. */
    public static final int LEAST_BUFFER_BYTES = 16;

    /** The largest ring in bytes: the maximum of 20 bits. */
    public static final int MOST_BUFFER_BYTES = (1 << 20) - 1;

    /** The smallest queue in messages: 2 for control, 2 for data. */
    public static final int LEAST_DEPTH = 4;

    /** The largest send queue in messages. */
    public static final int MOST_SEND_DEPTH = 65_535;

    /** The largest receive queue in messages: half of it must fit into 9 bits. */
    public static final int MOST_RECEIVE_DEPTH = 1023;

    private static final StreamOptions DEFAULTS = new StreamOptions(1 << 15, 1 << 15, 384, 384, StreamMode.IMMEDIATE);

    /**
     * Checks the ranges.
     *
     * @throws IllegalArgumentException if a value is out of its range
     */
    public StreamOptions {
        range("sendBufferBytes", sendBufferBytes, LEAST_BUFFER_BYTES, MOST_BUFFER_BYTES);
        range("receiveBufferBytes", receiveBufferBytes, LEAST_BUFFER_BYTES, MOST_BUFFER_BYTES);
        range("sendQueueDepth", sendQueueDepth, LEAST_DEPTH, MOST_SEND_DEPTH);
        range("receiveQueueDepth", receiveQueueDepth, LEAST_DEPTH, MOST_RECEIVE_DEPTH);
        Objects.requireNonNull(mode, "mode");
    }

    private static void range(String name, int value, int least, int most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException(name + " must be " + least + " to " + most + ", not " + value);
        }
    }

    /** Returns the defaults of fi_rstream: both rings 32 KiB, both queues 384, immediate mode. */
    public static StreamOptions defaults() {
        return DEFAULTS;
    }

    /**
     * Returns a copy with another send ring.
     *
     * @param bytes its size in bytes
     */
    public StreamOptions withSendBufferBytes(int bytes) {
        return new StreamOptions(bytes, receiveBufferBytes, sendQueueDepth, receiveQueueDepth, mode);
    }

    /**
     * Returns a copy with another receive ring.
     *
     * @param bytes its size in bytes
     */
    public StreamOptions withReceiveBufferBytes(int bytes) {
        return new StreamOptions(sendBufferBytes, bytes, sendQueueDepth, receiveQueueDepth, mode);
    }

    /**
     * Returns a copy with another send queue.
     *
     * @param depth its size in messages
     */
    public StreamOptions withSendQueueDepth(int depth) {
        return new StreamOptions(sendBufferBytes, receiveBufferBytes, depth, receiveQueueDepth, mode);
    }

    /**
     * Returns a copy with another receive queue.
     *
     * @param depth its size in messages
     */
    public StreamOptions withReceiveQueueDepth(int depth) {
        return new StreamOptions(sendBufferBytes, receiveBufferBytes, sendQueueDepth, depth, mode);
    }

    /**
     * Returns a copy with another mode.
     *
     * @param value the mode
     */
    public StreamOptions withMode(StreamMode value) {
        return new StreamOptions(sendBufferBytes, receiveBufferBytes, sendQueueDepth, receiveQueueDepth, value);
    }
}
