package io.rdmatest.verbs;

/** How far atomic operations are atomic (enum ibv_atomic_cap; IBTA volume 1, section 10.6.7.2). */
public enum AtomicCapability {
    /** No atomic operations. */
    NONE,
    /** Among the queue pairs of this device. */
    HCA,
    /** Also against the processor and other devices. */
    GLOB,
    /** A value that this library does not know. */
    UNKNOWN;

    static AtomicCapability of(int code) {
        return code >= 0 && code < UNKNOWN.ordinal() ? values()[code] : UNKNOWN;
    }
}
