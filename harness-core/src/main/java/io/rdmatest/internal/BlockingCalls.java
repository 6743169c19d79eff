package io.rdmatest.internal;

import static io.rdmatest.ffi.rdma_h.C_POINTER;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;

/**
 * Ends a system call that another thread of this process is blocked in: with EINTR, by a signal whose handler does nothing,
 * signal(7). That is what java.nio does for its channels.
 *
 * <p>To be used only after {@link Native#requireLibraries()}, as every {@link Downcall}.
 */
public final class BlockingCalls {

    /** Real-time signals of Linux that are looked at, from the last one down; java.nio has 62, and glibc the first ones. */
    private static final int LAST_SIGNAL = 61;

    private static final int FIRST_SIGNAL = 40;

    /** A struct sigaction of glibc for 64-bit processors: the handler first, then the mask, the flags and the restorer. */
    private static final long ACTION_SIZE = 152;

    private static final int STACK_FRAMES = 4;

    /** Where a thread waits if the kernel does not tell. */
    public static final String UNKNOWN = "?";

    private static final Downcall GETTID = Downcall.of("gettid", JAVA_INT);
    private static final Downcall TGKILL = Downcall.of("tgkill", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);
    private static final Downcall SIGACTION = Downcall.of("sigaction", JAVA_INT, JAVA_INT, C_POINTER, C_POINTER);

    private BlockingCalls() {}

    /** Made when something has to be interrupted for the first time. */
    private static final class Signal {
        static final int PROCESS = (int) ProcessHandle.current().pid();
        static final int NUMBER = install();

        /**
         * Takes the last real-time signal that nobody handles. Without the flag SA_RESTART a call that it interrupts is not
         * begun anew.
         *
         * @return the signal; 0 if all are taken
         */
        private static int install() {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment action = arena.allocate(ACTION_SIZE, Long.BYTES);
                MemorySegment before = arena.allocate(ACTION_SIZE, Long.BYTES);
                for (int number = LAST_SIGNAL; number >= FIRST_SIGNAL; number--) {
                    if (act(number, MemorySegment.NULL, before) && before.get(JAVA_LONG, 0) == 0) {
                        // abs(3) takes an int as a handler does, and touches nothing.
                        MemorySegment handler =
                                Linker.nativeLinker().defaultLookup().findOrThrow("abs");
                        action.set(JAVA_LONG, 0, handler.address());
                        return act(number, action, before) ? number : 0;
                    }
                }
            }
            return 0;
        }

        private static boolean act(int number, MemorySegment action, MemorySegment before) {
            try {
                return (int) SIGACTION.handle().invokeExact(Native.errnoState(), number, action, before) == 0;
            } catch (Throwable e) {
                throw Native.unchecked("sigaction", e);
            }
        }
    }

    /** Returns the kernel's number of the calling thread, gettid(2). Of a virtual thread, that of its carrier at the moment. */
    public static int currentThread() {
        try {
            return (int) GETTID.handle().invokeExact(Native.errnoState());
        } catch (Throwable e) {
            throw Native.unchecked("gettid", e);
        }
    }

    /**
     * Interrupts the system call that a thread is in, tgkill(2). A thread that is just about to begin one is not held back
     * from it: who wants a call to end repeats this until it has.
     *
     * @param thread as {@link #currentThread} returned it on that thread; it must be alive, its number is given anew
     * @return false if there is no such thread, or no signal is left to be used
     */
    public static boolean interrupt(int thread) {
        if (Signal.NUMBER == 0) {
            return false;
        }
        try {
            return (int) TGKILL.handle().invokeExact(Native.errnoState(), Signal.PROCESS, thread, Signal.NUMBER) == 0;
        } catch (Throwable e) {
            throw Native.unchecked("tgkill", e);
        }
    }

    /**
     * Says where in the kernel a thread waits, proc(5): its wchan, and for root its innermost kernel functions.
     *
     * @param thread the kernel's number of a thread of this process
     * @return for example {@code ib_uverbs_event_read}; {@link #UNKNOWN} where the kernel does not tell
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
