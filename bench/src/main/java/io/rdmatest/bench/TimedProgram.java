package io.rdmatest.bench;

import io.rdmatest.scenarios.cprogram.CProgram;
import io.rdmatest.scenarios.cprogram.RdmaResources;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Runs a C program and notes the time of each line of output and of its exit.
 *
 * <p>{@link CProgram} looks at a file every few milliseconds, which is right for a test and too coarse for a measurement.
 */
final class TimedProgram implements AutoCloseable {

    private static final Duration GRACE = Duration.ofSeconds(10);
    private static final int LOOK_MILLIS = 20;

    /**
     * A line of output.
     *
     * @param text without its end
     * @param nanos when it came, as {@link System#nanoTime}
     */
    record Line(String text, long nanos) {}

    private final String command;
    private final Duration step;
    private final long startNanos;
    private final Process process;
    private final Thread reader;
    private final List<Line> lines = new ArrayList<>();
    private long endNanos;
    private boolean ended;

    private TimedProgram(String command, Duration step, long startNanos, Process process) {
        this.command = command;
        this.step = step;
        this.startNanos = startNanos;
        this.process = process;
        this.reader =
                Thread.ofPlatform().name("rdmatest-bench-reader").daemon(true).start(this::read);
    }

    /**
     * Starts a program.
     *
     * @param step how long each wait for it may take
     * @param lineByLine whether it is to print each line at once; it then pays a call of the kernel for each
     * @param name its name, looked for on the {@code PATH}
     * @param arguments its arguments
     * @throws NotMeasuredException if it is not installed
     */
    static TimedProgram start(Duration step, boolean lineByLine, String name, Object... arguments) throws IOException {
        return launch(step, lineByLine ? List.of("stdbuf", "-oL") : List.of(), name, arguments);
    }

    /**
     * Starts a program of which both ends poll without pause.
     *
     * @param step how long each wait for it may take
     * @param processor what its end is bound to, of {@link Processors}
     * @param name its name, looked for on the {@code PATH}
     * @param arguments its arguments
     * @throws NotMeasuredException if it is not installed
     */
    static TimedProgram polling(Duration step, int processor, String name, Object... arguments) throws IOException {
        return launch(step, Processors.binding(processor), name, arguments);
    }

    private static TimedProgram launch(Duration step, List<String> before, String name, Object... arguments)
            throws IOException {
        List<String> command = new ArrayList<>(before);
        command.add(CProgram.find(name)
                .orElseThrow(() -> new NotMeasuredException("the program " + name + " is not installed"))
                .toString());
        List<String> words = Arrays.stream(arguments).map(Object::toString).toList();
        command.addAll(words);
        long start = System.nanoTime();
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectInput(new File("/dev/null"))
                .start();
        return new TimedProgram(name + " " + String.join(" ", words), step, start, process);
    }

    private void read() {
        try (BufferedReader output = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = output.readLine(); line != null; line = output.readLine()) {
                long now = System.nanoTime();
                synchronized (lines) {
                    lines.add(new Line(line, now));
                    lines.notifyAll();
                }
            }
        } catch (IOException e) {
            synchronized (lines) {
                lines.add(new Line("[its output cannot be read any further: " + e + "]", System.nanoTime()));
            }
        }
        synchronized (lines) {
            endNanos = System.nanoTime();
            ended = true;
            lines.notifyAll();
        }
    }

    /** Returns the command line. */
    String command() {
        return command;
    }

    /** Waits until the program listens, as far as the kernel tells. */
    void awaitListening() throws IOException, InterruptedException {
        long deadline = System.nanoTime() + step.toNanos();
        while (!RdmaResources.mayListen(process.pid())) {
            if (process.waitFor(LOOK_MILLIS, TimeUnit.MILLISECONDS)) {
                throw new NotMeasuredException("the server ended before its client came: " + describe());
            }
            if (System.nanoTime() - deadline >= 0) {
                throw new NotMeasuredException(
                        "the server does not listen after " + step.toSeconds() + " s: " + describe());
            }
        }
    }

    /**
     * Waits for a line.
     *
     * @param part what is in it
     * @throws NotMeasuredException if the program ended or a step's time passed before it came
     */
    Line awaitLine(String part) throws InterruptedException {
        Line line = awaitLine(part, step);
        if (line == null) {
            throw new NotMeasuredException(
                    "no line with '%s' within %d s: %s".formatted(part, step.toSeconds(), describe()));
        }
        return line;
    }

    /**
     * Waits for a line that need not come.
     *
     * @param part what is in it
     * @param longest how long to wait at most
     * @return the line; null if the program runs on without it
     * @throws NotMeasuredException if the program ended before it came
     */
    @Nullable
    Line awaitLine(String part, Duration longest) throws InterruptedException {
        long deadline = System.nanoTime() + longest.toNanos();
        synchronized (lines) {
            for (int next = 0; ; ) {
                for (; next < lines.size(); next++) {
                    if (lines.get(next).text().contains(part)) {
                        return lines.get(next);
                    }
                }
                if (ended) {
                    throw new NotMeasuredException("no line with '%s' until the end: %s".formatted(part, describe()));
                }
                long millis = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
                if (millis <= 0) {
                    return null;
                }
                lines.wait(millis);
            }
        }
    }

    /**
     * Waits for the end of the program, and requires that it ended well.
     *
     * @return the time from its start to its end in nanoseconds
     * @throws NotMeasuredException if it failed, or still runs after a step's time
     */
    long awaitSuccess() throws InterruptedException {
        if (!process.waitFor(step.toNanos(), TimeUnit.NANOSECONDS)) {
            throw new NotMeasuredException("still running after " + step.toSeconds() + " s: " + describe());
        }
        reader.join(GRACE);
        if (process.exitValue() != 0) {
            throw new NotMeasuredException("the program failed: " + describe());
        }
        synchronized (lines) {
            if (!ended) {
                throw new NotMeasuredException("the output has no end though the program ended: " + describe());
            }
            return endNanos - startNanos;
        }
    }

    /** Returns the lines that came until now. */
    List<String> output() {
        synchronized (lines) {
            return lines.stream().map(Line::text).toList();
        }
    }

    /** Returns the command line, how the program ended if it has, and the end of its output, for messages. */
    String describe() {
        String state = process.isAlive() ? "still running" : "ended with " + process.exitValue();
        List<String> said = output().stream().filter(line -> !line.isBlank()).toList();
        List<String> tail = said.subList(Math.max(0, said.size() - 8), said.size());
        return command + " [" + state + "]"
                + (tail.isEmpty() ? " printed nothing" : " printed: " + String.join(" | ", tail));
    }

    /** Kills the program if it still runs, and waits until it and its reader are gone. */
    @Override
    public void close() {
        CProgram.kill(process, command);
        try {
            reader.join(GRACE);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
