package io.rdmatest.walk;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The last operations of all threads, in a file that is mapped into memory: what is written is in the kernel's hands at
 * once, so that it is still there after a crash of the JVM. One line of text per operation; the operation that crashed
 * is one of those that have no outcome.
 */
final class Journal implements AutoCloseable {

    static final int LINES = 2048;
    private static final int WIDTH = 256;
    private static final int OUTCOME = 168;
    private static final String RUNNING = "=> RUNNING";

    private final Path file;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment lines;
    private final AtomicLong next = new AtomicLong();

    private Journal(Path file) throws IOException {
        this.file = file;
        try (FileChannel channel = FileChannel.open(
                file,
                StandardOpenOption.CREATE,
                StandardOpenOption.READ,
                StandardOpenOption.WRITE,
                StandardOpenOption.TRUNCATE_EXISTING)) {
            this.lines = channel.map(FileChannel.MapMode.READ_WRITE, 0, (long) LINES * WIDTH, arena);
        }
        lines.fill((byte) ' ');
        for (int i = 1; i <= LINES; i++) {
            lines.set(ValueLayout.JAVA_BYTE, (long) i * WIDTH - 1, (byte) '\n');
        }
    }

    static Journal create(Path file) throws IOException {
        Files.createDirectories(file.toAbsolutePath().getParent());
        return new Journal(file.toAbsolutePath());
    }

    Path file() {
        return file;
    }

    /** Writes what is about to be done; returns the operation's number. */
    long begin(String thread, String what) {
        long number = next.getAndIncrement();
        write(number, 0, OUTCOME, number + " " + thread + " " + what);
        write(number, OUTCOME, WIDTH - 1 - OUTCOME, RUNNING);
        return number;
    }

    void end(long number, String outcome) {
        write(number, OUTCOME, WIDTH - 1 - OUTCOME, outcome);
    }

    private void write(long number, int column, int width, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
        long at = number % LINES * WIDTH + column;
        int length = Math.min(width, bytes.length);
        MemorySegment.copy(bytes, 0, lines, ValueLayout.JAVA_BYTE, at, length);
        lines.asSlice(at + length, width - length).fill((byte) ' ');
    }

    /** Returns the last operations of all threads, the oldest first. */
    List<String> last(int count) {
        long end = next.get();
        List<String> last = new ArrayList<>();
        for (long number = Math.max(0, end - Math.min(count, LINES)); number < end; number++) {
            byte[] line = lines.asSlice(number % LINES * WIDTH, WIDTH - 1).toArray(ValueLayout.JAVA_BYTE);
            last.add(new String(line, StandardCharsets.ISO_8859_1).strip().replaceAll(" {2,}", "  "));
        }
        return last;
    }

    @Override
    public void close() {
        arena.close();
    }
}
