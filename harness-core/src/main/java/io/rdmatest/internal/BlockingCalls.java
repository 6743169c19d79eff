package io.rdmatest.internal;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;

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

    private static final int STACK_FRAMES = 4;

    /** The result of {@link #waitsIn} if the kernel does not report the place. */
    public static final String UNKNOWN = "?";

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

    /**
     * Returns where in the kernel a thread waits, proc(5): its wchan, or for root its innermost kernel functions.
     *
     * @param thread the kernel's id of a thread of this process
     * @return for example {@code ib_uverbs_event_read}; {@link #UNKNOWN} if the kernel does not report it
     */
    public static String waitsIn(int thread) {
        Path task = Path.of("/proc/self/task", Integer.toString(thread));
        try {
            String stack = Files.readString(task.resolve("stack"))
                    .lines()
                    .limit(STACK_FRAMES)
                    .map(line -> line.replaceFirst("^\\[<\\w*>\\] ", "").replaceFirst("\\+0x.*", ""))
                    .collect(Collectors.joining(" < "));
            if (!stack.isBlank()) {
                return stack;
            }
        } catch (IOException e) {
            // Only root may read it.
        }
        try {
            String function = Files.readString(task.resolve("wchan")).strip();
            return function.isEmpty() || function.equals("0") ? UNKNOWN : function;
        } catch (IOException e) {
            return UNKNOWN;
        }
    }
}
