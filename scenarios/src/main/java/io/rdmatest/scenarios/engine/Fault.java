package io.rdmatest.scenarios.engine;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * What a role does wrong on purpose, so that a test can prove that the other side notices.
 *
 * <p>Every role that sends payload takes one. A scenario that passes with a fault verifies nothing.
 */
public enum Fault {

    /** Nothing: what is sent is what the scenario says. */
    NONE,

    /**
     * The role flips one bit of one payload byte that it sends, once per run and in the middle of the transfer: after it
     * has filled the buffer and before it posts the request.
     */
    FLIP_PAYLOAD_BYTE;

    /**
     * Damages a payload that is about to be sent, if this fault does so and the payload is the one that is due.
     *
     * @param unit which of the units of payload this is, counted from 0
     * @param units how many there will be; the one in the middle is due
     * @param payload the filled bytes of this unit, its middle byte is damaged; may be empty, then nothing happens
     */
    public void apply(long unit, long units, MemorySegment payload) {
        if (this == FLIP_PAYLOAD_BYTE && unit == units / 2) {
            flip(payload);
        }
    }

    /**
     * Flips the lowest bit of the byte in the middle of a payload, whatever this fault is. That never makes a printable
     * character a NUL.
     *
     * @param payload the filled bytes; nothing happens if there are none
     */
    public static void flip(MemorySegment payload) {
        if (payload.byteSize() > 0) {
            long middle = payload.byteSize() / 2;
            payload.set(ValueLayout.JAVA_BYTE, middle, (byte) (payload.get(ValueLayout.JAVA_BYTE, middle) ^ 1));
        }
    }
}
