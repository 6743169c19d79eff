package io.rdmatest;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdmatest.internal.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/** Reads the kernel's messages without waiting for more (/dev/kmsg, Documentation/ABI/testing/dev-kmsg). */
public final class KernelLog {

    private static final int NON_BLOCKING_CLOEXEC = 0x800 | 0x80000;
    private static final int AGAIN = 11;
    private static final int OVERWRITTEN = 32;
    private static final int RECORD = 8192;
    private static final int MOST_LINES = 200;
    /** The kernel's clock of the log is not the one of System.nanoTime, only near to it. */
    private static final long TOLERANCE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private static final MethodHandle OPEN = Linker.nativeLinker()
            .downcallHandle(
                    Linker.nativeLinker().defaultLookup().findOrThrow("open"),
                    FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT),
                    Linker.Option.firstVariadicArg(2),
                    Linker.Option.captureCallState("errno"));
    private static final MethodHandle READ = Native.capturing(
            Linker.nativeLinker().defaultLookup().findOrThrow("read"),
            FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG));
    private static final MethodHandle CLOSE = Native.capturing(
            Linker.nativeLinker().defaultLookup().findOrThrow("close"), FunctionDescriptor.of(JAVA_INT, JAVA_INT));

    private KernelLog() {}

    /**
     * Returns the messages since a moment, the oldest first, each with its time in seconds since the system started.
     *
     * @param nanoTime the moment, as {@link System#nanoTime()} told it
     * @return the last 200 lines at most; empty if there are none
     * @throws RdmaException EPERM or EACCES without the permission to read them, ENOENT where there is no /dev/kmsg
     */
    public static List<String> since(long nanoTime) {
        try (Arena arena = Arena.ofConfined()) {
            int fd = (int) OPEN.invokeExact(Native.errnoState(), arena.allocateFrom("/dev/kmsg"), NON_BLOCKING_CLOEXEC);
            if (fd < 0) {
                throw Native.failure("open", "/dev/kmsg");
            }
            try {
                return read(fd, arena.allocate(RECORD), nanoTime - TOLERANCE_NANOS);
            } finally {
                int ignored = (int) CLOSE.invokeExact(Native.errnoState(), fd);
            }
        } catch (Throwable e) {
            throw Native.unchecked("read of /dev/kmsg", e);
        }
    }

    private static List<String> read(int fd, MemorySegment buffer, long from) throws Throwable {
        Deque<String> lines = new ArrayDeque<>();
        while (true) {
            long length = (long) READ.invokeExact(Native.errnoState(), fd, buffer, (long) RECORD);
            if (length < 0) {
                int errno = Native.errno();
                if (errno == OVERWRITTEN) {
                    continue;
                }
                if (errno == AGAIN) {
                    return List.copyOf(lines);
                }
                throw Native.failure("read", "/dev/kmsg");
            }
            if (length == 0) {
                return List.copyOf(lines);
            }
            byte[] record = buffer.asSlice(0, length).toArray(JAVA_BYTE);
            String line = line(new String(record, StandardCharsets.UTF_8), from);
            if (!line.isEmpty()) {
                if (lines.size() == MOST_LINES) {
                    String ignored = lines.removeFirst();
                }
                lines.addLast(line);
            }
        }
    }

    /** Returns the first line of a record with its time; empty if it is older. */
    static String line(String record, long from) {
        int text = record.indexOf(';');
        String[] head = record.substring(0, Math.max(0, text)).split(",");
        if (head.length < 3) {
            return "";
        }
        long nanos = TimeUnit.MICROSECONDS.toNanos(Long.parseLong(head[2].strip()));
        if (nanos < from) {
            return "";
        }
        int end = record.indexOf('\n');
        return String.format(
                Locale.ROOT, "[%.6f] %s", nanos / 1e9, record.substring(text + 1, end < 0 ? record.length() : end));
    }
}
