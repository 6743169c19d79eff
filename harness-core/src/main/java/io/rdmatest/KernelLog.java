package io.rdmatest;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.rdmatest.internal.Libc;
import io.rdmatest.internal.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Reads the kernel's log without blocking (/dev/kmsg, Documentation/ABI/testing/dev-kmsg).
 *
 * <p>The first {@link #mark()} opens the log at its end. The order of reading decides which messages follow a mark.
 * Their time stamps cannot: that clock drifts by some seconds a day.
 */
public final class KernelLog {

    private static final int RECORD = 8192;
    private static final int MOST_LINES = 200;

    private static final KernelLog LOG = new KernelLog(null);

    /** Reads the records of the log one by one. */
    @FunctionalInterface
    interface Source {
        /** Returns the next record; null if there is none yet. */
        @Nullable
        String next();
    }

    /** Null until the log is opened. */
    private @Nullable Source source;

    /** The last lines. */
    private final Deque<String> lines = new ArrayDeque<>();
    /** How many lines were read. */
    private long read;

    /** Takes a replacement for the device file in tests; null for the file. */
    KernelLog(@Nullable Source source) {
        this.source = source;
    }

    /**
     * Marks the current end of the log. Never fails: if the log can't be read, {@link #since} throws the reason.
     *
     * @return the mark, for {@link #since}; valid in this JVM
     */
    public static long mark() {
        return LOG.end();
    }

    /**
     * Returns the messages since a mark, the oldest first, each with its time in seconds since the system started.
     *
     * @param mark what {@link #mark()} returned
     * @return at most the last 200 lines; may be empty
     * @throws RdmaException EPERM or EACCES if the process may not read the log, ENOENT if there is no /dev/kmsg
     */
    public static List<String> since(long mark) {
        return LOG.from(mark);
    }

    synchronized long end() {
        try {
            readAll();
        } catch (RuntimeException | LinkageError e) {
            // since() throws the reason.
            return read;
        }
        return read;
    }

    synchronized List<String> from(long mark) {
        readAll();
        long wanted = Math.min(read - mark, lines.size());
        return lines.stream().skip(lines.size() - wanted).toList();
    }

    private void readAll() {
        Source from = source;
        if (from == null) {
            from = new Device();
            source = from;
        }
        for (String record = from.next(); record != null; record = from.next()) {
            String line = line(record);
            if (!line.isEmpty()) {
                if (lines.size() == MOST_LINES) {
                    String ignored = lines.removeFirst();
                }
                lines.addLast(line);
                read++;
            }
        }
    }

    /** Returns the first line of a record with its time; empty if this is not a record. */
    static String line(String record) {
        int text = record.indexOf(';');
        String[] head = record.substring(0, Math.max(0, text)).split(",");
        if (head.length < 3) {
            return "";
        }
        long nanos = TimeUnit.MICROSECONDS.toNanos(Long.parseLong(head[2].strip()));
        int end = record.indexOf('\n');
        return String.format(
                Locale.ROOT, "[%.6f] %s", nanos / 1e9, record.substring(text + 1, end < 0 ? record.length() : end));
    }

    /** The device file. It stays open until the JVM ends. */
    private static final class Device implements Source {

        private final int fd;
        private final MemorySegment buffer;

        Device() {
            fd = Libc.open("/dev/kmsg", Libc.O_NONBLOCK | Libc.O_CLOEXEC);
            if (fd < 0) {
                throw new RdmaException("open", "/dev/kmsg", Native.errno());
            }
            long ignored = Libc.lseek(fd, 0, Libc.SEEK_END);
            buffer = Arena.ofAuto().allocate(RECORD);
        }

        @Override
        public @Nullable String next() {
            while (true) {
                long length = Libc.read(fd, buffer, RECORD);
                if (length > 0) {
                    return new String(buffer.asSlice(0, length).toArray(JAVA_BYTE), StandardCharsets.UTF_8);
                }
                int errno = length == 0 ? Libc.EAGAIN : Native.errno();
                if (errno == Libc.EAGAIN) {
                    return null;
                }
                // The kernel has overwritten the next records.
                if (errno != Libc.EPIPE) {
                    throw new RdmaException("read", "/dev/kmsg", Native.errno());
                }
            }
        }
    }
}
