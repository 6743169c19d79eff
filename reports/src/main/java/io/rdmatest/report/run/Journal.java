package io.rdmatest.report.run;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A file of JSON lines with everything that a JVM has started and finished. Whenever the JVM, or the virtual machine around it,
 * dies, the file is complete up to the last line.
 */
public final class Journal implements AutoCloseable {

    private static final String SUFFIX = ".jsonl";

    /**
     * This is no channel: an interrupt, such as at a test's time limit, would close a channel, and the rest of the run would not
     * be recorded.
     */
    private final FileOutputStream out;

    private @Nullable OutputStream progress;

    /** Why an event could not be written, until that is itself in the file. */
    private @Nullable String lost;

    /**
     * Creates a journal of this JVM in a directory, and the directory if it is not there.
     *
     * @param directory the directory
     * @param progress whether to repeat every line on the standard output
     * @throws IOException if the directory cannot be written to
     */
    public Journal(Path directory, boolean progress) throws IOException {
        // The descriptor itself, because tests and build plugins replace System.out.
        this(directory, progress ? new FileOutputStream(FileDescriptor.out) : null);
    }

    Journal(Path directory, @Nullable OutputStream progress) throws IOException {
        this(new FileOutputStream(newFile(directory).toFile()), progress);
    }

    Journal(FileOutputStream out, @Nullable OutputStream progress) {
        this.out = out;
        this.progress = progress;
    }

    static Path newFile(Path directory) throws IOException {
        Files.createDirectories(directory);
        // Process ids repeat from one virtual machine to the next, so they do not tell JVMs apart.
        return directory.resolve("%d-%s%s"
                .formatted(
                        System.currentTimeMillis(), UUID.randomUUID().toString().substring(0, 8), SUFFIX));
    }

    /**
     * Writes a line; when this returns, it is on the disk.
     *
     * @throws IOException if the line is not on the disk, or only a part of it; the next line that can be written reports that
     *     before its own event
     */
    public synchronized void write(JournalEvent event) throws IOException {
        String line = event.toLine() + "\n";
        // A failed write may have left the beginning of its line. Nothing may be added to that line.
        String before = lost == null ? "" : "\n" + JournalEvent.lost(lost).toLine() + "\n";
        try {
            out.write((before + line).getBytes(StandardCharsets.UTF_8));
            out.getFD().sync();
            lost = null;
        } catch (IOException e) {
            lost = "could not be written: " + e.getMessage();
            throw e;
        }
        OutputStream shown = progress;
        if (shown != null && event.event() != JournalEvent.Kind.PLANNED) {
            try {
                shown.write((ReportConfiguration.PROGRESS_PREFIX + line).getBytes(StandardCharsets.UTF_8));
            } catch (IOException e) {
                // No process reads this output any more. The file goes on, and only the file matters.
                progress = null;
            }
        }
    }

    @Override
    public synchronized void close() throws IOException {
        out.close();
    }

    /**
     * Reads all journals of a directory, the oldest first.
     *
     * @param directory where they are; need not exist
     * @return the events; a last line that was cut off by a crash is left out. Any other line that is no journal line becomes
     *     {@link JournalEvent.Kind#LOST}
     * @throws IOException if a file cannot be read
     */
    public static List<JournalEvent> read(Path directory) throws IOException {
        List<JournalEvent> events = new ArrayList<>();
        if (!Files.isDirectory(directory)) {
            return events;
        }
        List<Path> files;
        try (Stream<Path> entries = Files.list(directory)) {
            files = entries.filter(file -> file.toString().endsWith(SUFFIX))
                    .sorted()
                    .toList();
        }
        for (Path file : files) {
            // Decoded leniently: a crash may have cut the last line in the middle of a character.
            String[] lines = new String(Files.readAllBytes(file), StandardCharsets.UTF_8).split("\n", -1);
            for (int i = 0; i < lines.length; i++) {
                if (lines[i].isBlank()) {
                    continue;
                }
                try {
                    events.add(JournalEvent.parse(lines[i].replace("\0", "")));
                } catch (IOException e) {
                    if (i < lines.length - 1) {
                        events.add(JournalEvent.lost("line %d of %s is no journal line".formatted(i + 1, file)));
                    }
                }
            }
        }
        return events;
    }
}
