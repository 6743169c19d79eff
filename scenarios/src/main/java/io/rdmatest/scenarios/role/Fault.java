package io.rdmatest.scenarios.role;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A fault that a role injects, so that a test can prove that the other side detects it.
 *
 * <p>Every role that sends payload has one. A scenario that passes with a fault verifies nothing.
 */
public enum Fault {

    /** No fault. */
    NONE,

    /**
     * The role flips one bit of one sent payload byte, once per run in the middle of the transfer, after it has filled
     * the buffer and before it posts the request.
     */
    FLIP_PAYLOAD_BYTE;

    /**
     * Damages a payload before it is sent, if this fault does so and it is the middle one.
     *
     * @param unit the number of this payload, from 0
     * @param units the total number of payloads; the middle one is damaged
     * @param payload the filled bytes; the middle byte is damaged; may be empty
     */
    public void apply(long unit, long units, MemorySegment payload) {
        if (this == FLIP_PAYLOAD_BYTE && unit == units / 2) {
            flip(payload);
        }
    }

    /**
     * Flips the lowest bit of the middle byte of a payload, independent of this fault. That never turns a printable
     * character into NUL.
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
