package io.rdmatest.fabric;

import io.rdmatest.Deadline;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs a shell script on a node through the node's launch command.
 *
 * <p>The streams are files, not pipes: a launch command may leave a process behind that keeps them open, such as ssh's
 * shared connection. A reader of a pipe would then never reach its end.
 */
final class LaunchedCommand {

    /** The largest answer in bytes. */
    private static final long MOST_BYTES = 4 << 20;

    private static final long SLICE_MILLIS = 100;
    private static final Duration END = Duration.ofSeconds(5);

    /** How the command ended. */
    enum End {
        /** By itself. */
        EXITED,
        /** It could not be started. */
        NOT_STARTED,
        /** The time ran out, and it was killed. */
        TIMED_OUT,
        /** It wrote too much, and was killed. */
        FLOODED,
        /** The caller cancelled, and it was killed. */
        CANCELLED
    }

    /**
     * An answer.
     *
     * @param end how it ended
     * @param status the exit status; -1 if it did not end by itself
     * @param out its standard output
     * @param err its standard error, or why it could not be started
     */
    record Answer(End end, int status, String out, String err) {}

    private LaunchedCommand() {}

    /**
     * Runs a script with {@code sh} on the node.
     *
     * @param launch the node's launch command
     * @param script the text of the script
     * @param timeout the longest wait
     * @param cancelled returns whether to cancel
     * @throws IOException if temporary files can't be written
     */
    static Answer run(List<String> launch, String script, Duration timeout, BooleanSupplier cancelled)
            throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory("rdmatest-check");
        Path in = folder.resolve("in");
        Path out = folder.resolve("out");
        Path err = folder.resolve("err");
        try {
            Files.writeString(in, script);
            List<String> command = new ArrayList<>(launch);
            command.add("sh");
            Process process;
            try {
                process = new ProcessBuilder(command)
                        .redirectInput(in.toFile())
                        .redirectOutput(out.toFile())
                        .redirectError(err.toFile())
                        .start();
            } catch (IOException e) {
                return new Answer(End.NOT_STARTED, -1, "", String.valueOf(e.getMessage()));
            }
            End end = null;
            try {
                end = await(process, timeout, cancelled, out, err);
            } finally {
                if (end != End.EXITED) {
                    kill(process);
                }
            }
            return new Answer(end, end == End.EXITED ? process.exitValue() : -1, text(out), text(err));
        } finally {
            for (Path file : List.of(in, out, err, folder)) {
                Files.deleteIfExists(file);
            }
        }
    }

    private static End await(Process process, Duration timeout, BooleanSupplier cancelled, Path out, Path err)
            throws IOException, InterruptedException {
        Deadline deadline = Deadline.after(timeout);
        while (!process.waitFor(SLICE_MILLIS, TimeUnit.MILLISECONDS)) {
            if (cancelled.getAsBoolean()) {
                return End.CANCELLED;
            }
            if (Files.size(out) > MOST_BYTES || Files.size(err) > MOST_BYTES) {
                return End.FLOODED;
            }
            if (deadline.isOver()) {
                return End.TIMED_OUT;
            }
        }
        return End.EXITED;
    }

    /** Ends the command with all that it started. */
    private static void kill(Process process) throws InterruptedException {
        List<ProcessHandle> family = new ArrayList<>(process.descendants().toList());
        process.destroyForcibly();
        family.forEach(ProcessHandle::destroyForcibly);
        process.waitFor(END.toMillis(), TimeUnit.MILLISECONDS);
    }

    private static String text(@Nullable Path file) throws IOException {
        if (file == null || !Files.exists(file)) {
            return "";
        }
        try (var stream = Files.newInputStream(file)) {
            return new String(stream.readNBytes((int) MOST_BYTES), StandardCharsets.UTF_8);
        }
    }
}
