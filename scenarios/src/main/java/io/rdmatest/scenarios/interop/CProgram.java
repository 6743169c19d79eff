package io.rdmatest.scenarios.interop;

import io.rdmatest.junit.SkipReason;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A running C program. Its output goes into a file, line by line as it is printed.
 *
 * <p>What it prints and how it ends are hints: several of these programs end with 0 after failures, and with something else
 * after success.
 */
public final class CProgram implements AutoCloseable {

    private static final Duration GRACE = Duration.ofSeconds(10);
    private static final long LOOK_MILLIS = 20;

    private final List<String> command;
    private final Process process;
    private final Path file;
    private final Duration step;
    private String last = "";

    private CProgram(List<String> command, Process process, Path file, Duration step) {
        this.command = command;
        this.process = process;
        this.file = file;
        this.step = step;
    }

    /**
     * Looks for a program on the {@code PATH}.
     *
     * @param name its name
     * @return where it is, or nothing
     */
    public static Optional<Path> find(String name) {
        String path = System.getenv("PATH");
        return Arrays.stream((path == null ? "" : path).split(File.pathSeparator, -1))
                .map(folder -> Path.of(folder, name))
                .filter(Files::isExecutable)
                .findFirst();
    }

    /**
     * Starts a program.
     *
     * @param step how long each wait for it may take
     * @param name its name, looked for on the {@code PATH}
     * @param arguments its arguments
     * @throws org.opentest4j.TestAbortedException if it is not installed
     * @throws IOException if it cannot be started
     */
    public static CProgram start(Duration step, String name, Object... arguments) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(find(name)
                .orElseThrow(() -> SkipReason.PEER_ABSENT.skip(
                        "the program " + name + " is not installed (Debian: apt-get install rdmacm-utils)"))
                .toString());
        Arrays.stream(arguments).map(Object::toString).forEach(command::add);
        // Into a file, a program prints only when its buffer is full, and it may be killed before that.
        List<String> unbuffered = new ArrayList<>(List.of("stdbuf", "-oL"));
        unbuffered.addAll(command);
        Path file = Files.createTempFile(name, ".out");
        try {
            Process process = new ProcessBuilder(unbuffered)
                    .redirectErrorStream(true)
                    .redirectInput(new File("/dev/null"))
                    .redirectOutput(file.toFile())
                    .start();
            command.set(0, name);
            return new CProgram(command, process, file, step);
        } catch (IOException | RuntimeException e) {
            Files.deleteIfExists(file);
            throw e;
        }
    }

    /** Returns the command line, as one would type it. */
    public String command() {
        return command.stream()
                .map(word -> word.matches("[\\w./:=-]+") ? word : "'" + word + "'")
                .collect(Collectors.joining(" "));
    }

    /** Returns what the program has printed until now; also after {@link #close}. */
    public String output() throws IOException {
        if (Files.exists(file)) {
            // Leniently: a damaged ping that the program prints need not be text any more.
            last = new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
        }
        return last;
    }

    /** Returns the command line, how the program ended if it has, and its output, for messages. */
    public String describe() {
        String state = process.isAlive() ? "still running" : "ended with " + process.exitValue();
        try {
            String said = output().strip();
            return command() + " [" + state + "]" + (said.isEmpty() ? " printed nothing" : " printed:\n" + said);
        } catch (IOException e) {
            return command() + " [" + state + "], whose output cannot be read: " + e;
        }
    }

    /** Returns the process. */
    public ProcessHandle process() {
        return process.toHandle();
    }

    /**
     * Waits until the program has printed something.
     *
     * @param text what to wait for, within one line
     * @throws AssertionError if it ended or a step's time passed before that
     */
    public void awaitOutput(String text) throws IOException, InterruptedException {
        awaitOutput(text, 1);
    }

    /**
     * Waits until the program has printed something several times.
     *
     * @param text what to wait for, within one line
     * @param times how often it must be there, at least 1
     * @throws AssertionError if it ended or a step's time passed before that
     */
    public void awaitOutput(String text, int times) throws IOException, InterruptedException {
        long deadline = System.nanoTime() + step.toNanos();
        while (true) {
            boolean ended = process.waitFor(LOOK_MILLIS, TimeUnit.MILLISECONDS);
            if (output().split(Pattern.quote(text), -1).length > times) {
                return;
            }
            if (ended || System.nanoTime() - deadline >= 0) {
                throw new AssertionError("No '%s'%s %s: %s"
                        .formatted(
                                text,
                                times == 1 ? "" : " " + times + " times",
                                ended ? "until its end" : "within " + step.toSeconds() + " s",
                                describe()));
            }
        }
    }

    /**
     * Waits until the program listens, as far as the kernel tells: for RDMA connections by {@code rdma resource show cm_id}
     * (rdma-resource(8)), for plain TCP by {@code /proc}. Returns at once where there is no rdma tool.
     *
     * @throws AssertionError if it ended or a step's time passed before that
     */
    public void awaitListening() throws IOException, InterruptedException {
        awaitListening(System.nanoTime() + step.toNanos());
    }

    void awaitListening(long deadline) throws IOException, InterruptedException {
        while (!RdmaResources.mayListen(process.pid())) {
            awaitNextTry(deadline, null);
        }
    }

    /**
     * Waits for the end of the program.
     *
     * @return its exit status; 128 and more if a signal ended it
     * @throws AssertionError if it still runs after a step's time
     */
    public int awaitEnd() throws InterruptedException {
        if (!process.waitFor(step.toNanos(), TimeUnit.NANOSECONDS)) {
            throw new AssertionError("Still running after " + step.toSeconds() + " s: " + describe());
        }
        return process.exitValue();
    }

    /**
     * Waits for the end of the program and requires that it ended well.
     *
     * @throws AssertionError if it did not, or still runs after a step's time
     */
    public void awaitSuccess() throws InterruptedException {
        if (awaitEnd() != 0) {
            throw new AssertionError("The program failed: " + describe());
        }
    }

    /** Gives the program a moment, in which it may not end. */
    void awaitNextTry(long deadline, @Nullable Throwable refusal) throws InterruptedException {
        if (process.waitFor(LOOK_MILLIS, TimeUnit.MILLISECONDS)) {
            throw new AssertionError("The server ended before anybody was connected: " + describe(), refusal);
        }
        if (System.nanoTime() - deadline >= 0) {
            throw new AssertionError(
                    "The server is not listening after " + step.toSeconds() + " s: " + describe(), refusal);
        }
    }

    /** Kills the program if it still runs, as {@code kill -9} does, and waits until it is gone. */
    public void kill() {
        process.destroyForcibly();
        // Not before it is gone is its port free.
        process.onExit().orTimeout(GRACE.toSeconds(), TimeUnit.SECONDS).join();
    }

    /** Kills the program if it still runs, waits until it is gone and removes its file. */
    @Override
    public void close() throws IOException {
        try {
            kill();
        } finally {
            try {
                String ignored = output();
            } finally {
                Files.deleteIfExists(file);
            }
        }
    }
}
