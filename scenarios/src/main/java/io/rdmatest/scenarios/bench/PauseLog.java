package io.rdmatest.scenarios.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The times at which the JVM stopped all its threads, from its own log: safepoints, of which a garbage collection is one. A
 * measurement in which there was one says something of the JVM as well.
 *
 * <p>The log is written because of {@link #options}, with the clock of {@link System#nanoTime()}, a line at the end of each.
 */
final class PauseLog {

    /** The system property with the log's path. */
    private static final String PROPERTY = "rdmatest.bench.pauses";

    /** Lines that are kept of one run. */
    private static final int MOST_LINES = 100;

    private static final Pattern LINE = Pattern.compile("\\[(\\d+)ns] (.*)");
    private static final Pattern SAFEPOINT = Pattern.compile("Safepoint \".*, Total: +(\\d+) ns.*");
    private static final String COLLECTION = "GC(";

    private final @Nullable Path file;

    /**
     * Reads a log.
     *
     * @param file where it is; null if there is none
     */
    PauseLog(@Nullable Path file) {
        this.file = file;
    }

    /** Returns the log of this JVM, which has none if it was not started with {@link #options}. */
    static PauseLog ofThisJvm() {
        String path = System.getProperty(PROPERTY);
        return new PauseLog(path == null ? null : Path.of(path));
    }

    /** Returns what a JVM has to be started with to write a log. */
    static List<String> options(Path file) {
        return List.of("-Xlog:gc,safepoint:file=" + file + ":timenanos:filecount=0", "-D" + PROPERTY + "=" + file);
    }

    /**
     * Adds what there was in a part of the time: {@code safepoints} and {@code collections}, how many; {@code pausedMillis}, how
     * long they took together; {@code pauses}, the lines of the log. Nothing if there is no log.
     *
     * @param begin as of {@link System#nanoTime()}
     * @param end as of {@link System#nanoTime()}
     * @throws IOException if the log can't be read
     */
    void put(Map<String, Object> details, long begin, long end) throws IOException {
        Path log = file;
        if (log == null) {
            return;
        }
        long safepoints = 0;
        long collections = 0;
        long paused = 0;
        List<String> lines = new ArrayList<>();
        for (String line : Files.readAllLines(log)) {
            Matcher matcher = LINE.matcher(line);
            if (!matcher.matches()) {
                continue;
            }
            long at = Long.parseLong(matcher.group(1));
            String what = matcher.group(2);
            Matcher safepoint = SAFEPOINT.matcher(what);
            long nanos = safepoint.matches() ? Long.parseLong(safepoint.group(1)) : 0;
            // The clock may be negative and overflow: only differences are compared.
            if (at - begin < 0 || at - nanos - end > 0) {
                continue;
            }
            if (safepoint.matches()) {
                safepoints++;
                paused += nanos;
            } else if (what.startsWith(COLLECTION)) {
                collections++;
            }
            if (lines.size() < MOST_LINES) {
                lines.add("%.3f ms: %s".formatted((at - begin) / 1e6, what));
            }
        }
        details.put("safepoints", safepoints);
        details.put("collections", collections);
        details.put("pausedMillis", paused / 1e6);
        details.put("pauses", lines);
    }
}
