package io.rdmatest.internal;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Interrupts a blocking system call of another thread of this process. A signal whose handler does nothing makes the
 * call fail with EINTR, signal(7). java.nio does the same for its channels.
 */
public final class BlockingCalls {

    /** The highest real-time signal to try; the search goes downwards. java.nio uses 62, and glibc the lowest ones. */
    private static final int LAST_SIGNAL = 61;

    private static final int FIRST_SIGNAL = 40;

    /** The size of struct sigaction in 64-bit glibc: handler, mask, flags, restorer. */
    private static final long ACTION_SIZE = 152;

    private BlockingCalls() {}

    /** Installed by the first interrupt. */
    private static final class Signal {
        static final int PROCESS = (int) ProcessHandle.current().pid();
        static final int NUMBER = install();

        /**
         * Installs a handler for the highest unused real-time signal. Without the flag SA_RESTART the kernel does not
         * restart an interrupted call.
         *
         * @return the signal; 0 if all are in use
         */
        private static int install() {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment action = arena.allocate(ACTION_SIZE, Long.BYTES);
                MemorySegment before = arena.allocate(ACTION_SIZE, Long.BYTES);
                for (int number = LAST_SIGNAL; number >= FIRST_SIGNAL; number--) {
                    if (act(number, MemorySegment.NULL, before) && before.get(JAVA_LONG, 0) == 0) {
                        // abs(3) has the signature of a handler and no side effects.
                        action.set(
                                JAVA_LONG, 0, Libc.lookup().findOrThrow("abs").address());
                        return act(number, action, before) ? number : 0;
                    }
                }
            }
            return 0;
        }

        private static boolean act(int number, MemorySegment action, MemorySegment before) {
            return Libc.sigaction(number, action, before) == 0;
        }
    }

    /**
     * Returns the kernel's id of the calling thread, gettid(2). For a virtual thread it is that of the current carrier.
     */
    public static int currentThread() {
        return Libc.gettid();
    }

    /**
     * Interrupts a thread's current system call, tgkill(2). It has no effect on a call that is about to begin, so
     * callers repeat it until the call has ended.
     *
     * @param thread the result of {@link #currentThread} on that thread; the thread must be alive, since the kernel
     *     reuses ids
     * @return false if there is no such thread, or no unused signal
     */
    public static boolean interrupt(int thread) {
        return Signal.NUMBER != 0 && Libc.tgkill(Signal.PROCESS, thread, Signal.NUMBER) == 0;
    }
}
