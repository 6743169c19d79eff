package io.rdmatest.scenarios.cprogram;

import io.rdmatest.Deadline;
import io.rdmatest.SkipReason;
import io.rdmatest.peer.PosixShell;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.opentest4j.TestAbortedException;

/**
 * A running C program. A thread reads each line when the program prints it, and notes the time.
 *
 * <p>Its output and exit status are only hints: several of these programs end with 0 after failures, and with another status
 * after success.
 */
public final class CProgram implements AutoCloseable {

    private static final Duration GRACE = Duration.ofSeconds(10);
    private static final long LOOK_MILLIS = 20;

    /** The exit status of a shell if there is no such program. */
    private static final int NOT_FOUND = 127;

    private final List<String> launch;
    private final List<String> command;
    private final Process process;
    private final Duration step;
    private final Thread reader;

    /** Whether the output was still open 10 s after the end of the program. */
    private volatile boolean isLeftOpen;

    /** The output until now, which is also the lock of the arrivals. */
    private final ByteArrayOutputStream printed = new ByteArrayOutputStream();

    /** The time at which each part of the output arrived, by the number of bytes until its end. */
    private final NavigableMap<Integer, Long> arrivals = new TreeMap<>();

    private CProgram(List<String> launch, List<String> command, Process process, Duration step) {
        this.launch = launch;
        this.command = command;
        this.process = process;
        this.step = step;
        this.reader = Thread.ofPlatform().name("rdma-c-program").daemon(true).start(this::read);
    }

    private void read() {
        byte[] part = new byte[8192];
        try (InputStream in = process.getInputStream()) {
            for (int count = in.read(part); count >= 0; count = in.read(part)) {
                append(part, count);
            }
        } catch (IOException e) {
            byte[] reason = ("[its output cannot be read: " + e + "]").getBytes(StandardCharsets.UTF_8);
            append(reason, reason.length);
        }
    }

    private void append(byte[] part, int count) {
        synchronized (printed) {
            printed.write(part, 0, count);
            arrivals.put(printed.size(), System.nanoTime());
        }
    }

    /**
     * Looks for a program on the {@code PATH}.
     *
     * @param name its name
     * @return the path of the program; empty if there is none
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
        return start(List.of(), step, name, arguments);
    }

    /**
     * Starts a program on a node. Killing it ends the launch command; that has to end the program.
     *
     * @param launch the command that runs another one on the node; empty for this host
     * @param step how long each wait for it may take
     * @param name its name, looked for on the {@code PATH} of the node
     * @param arguments its arguments
     * @throws org.opentest4j.TestAbortedException if it is not installed on this host; on another node, the first wait for the
     *     program reports that
     * @throws IOException if it cannot be started
     */
    public static CProgram start(List<String> launch, Duration step, String name, Object... arguments)
            throws IOException {
        // Into a pipe, a program prints only when its buffer is full, and it may be killed before that.
        List<String> command = new ArrayList<>(List.of("stdbuf", "-oL"));
        command.add(
                launch.isEmpty() ? find(name).orElseThrow(() -> missing(name)).toString() : name);
        Arrays.stream(arguments).map(Object::toString).forEach(command::add);
        List<String> typed = new ArrayList<>(launch);
        typed.add(name);
        typed.addAll(command.subList(3, command.size()));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        Process process = launch.isEmpty()
                ? builder.redirectInput(new File("/dev/null")).start()
                : startByShell(builder, launch, command);
        return new CProgram(launch, typed, process, step);
    }

    /**
     * Lets a shell on the node start the program, by a script on the shell's standard input. So no launch command changes the
     * words. The shell kills the program when its input ends, because ssh(1) does not do so when it is killed.
     */
    private static Process startByShell(ProcessBuilder builder, List<String> launch, List<String> command)
            throws IOException {
        List<String> shell = new ArrayList<>(launch);
        shell.add("sh");
        Process process = builder.command(shell).start();
        String quoted = command.stream().map(PosixShell::quote).collect(Collectors.joining(" "));
        String script = "exec 3<&0; " + quoted + " </dev/null 3<&- & program=$!; "
                + "{ read -r end <&3; kill -KILL $program; } 2>/dev/null & watch=$!; "
                + "wait $program; status=$?; kill $watch 2>/dev/null; exit $status\n";
        try {
            // The stream stays open, because its end would end the program.
            OutputStream in = process.getOutputStream();
            in.write(script.getBytes(StandardCharsets.UTF_8));
            in.flush();
        } catch (IOException e) {
            // The launch command has already ended. The next wait for the program reports its output.
        }
        return process;
    }

    private static TestAbortedException missing(String name) {
        return new TestAbortedException(SkipReason.PEER_ABSENT.because(
                "the program " + name + " is not installed (Debian: apt-get install rdmacm-utils)"));
    }

    /** Returns the command line, as one would type it. */
    public String command() {
        return command.stream()
                .map(word -> word.matches("[\\w./:=-]+") ? word : "'" + word + "'")
                .collect(Collectors.joining(" "));
    }

    /** Returns what the program has printed until now, and all of it after its end. */
    public String output() {
        if (!process.isAlive() && !isLeftOpen) {
            // A process that the program left behind, such as the master of ssh(1), may keep the pipe open.
            isLeftOpen = !Deadline.after(GRACE).join(reader, () -> {});
        }
        synchronized (printed) {
            // Decoded leniently, because a damaged ping that the program prints may be no text.
            return printed.toString(StandardCharsets.UTF_8);
        }
    }

    /**
     * Returns the time at which the program printed something, on the scale of {@link System#nanoTime}.
     *
     * @param text ASCII within one line; its first occurrence counts
     * @throws AssertionError if the program has not printed it
     */
    public long printedAt(String text) {
        String ignored = output();
        synchronized (printed) {
            int at = printed.toString(StandardCharsets.ISO_8859_1).indexOf(text);
            if (at >= 0) {
                return arrivals.ceilingEntry(at + text.length()).getValue();
            }
        }
        throw new AssertionError("No '%s': %s".formatted(text, describe()));
    }

    /** Returns the command line, how the program ended if it has, and its output, for messages. */
    public String describe() {
        String state = process.isAlive() ? "still running" : "ended with " + process.exitValue();
        String said = output().strip();
        return command() + " [" + state + "]" + (said.isEmpty() ? " printed nothing" : " printed:\n" + said);
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
    public void awaitOutput(String text) throws InterruptedException {
        awaitOutput(text, 1);
    }

    /**
     * Waits until the program has printed something several times.
     *
     * @param text what to wait for, within one line
     * @param times how often it must be there, at least 1
     * @throws AssertionError if it ended or a step's time passed before that
     */
    public void awaitOutput(String text, int times) throws InterruptedException {
        long deadline = Deadline.end(step);
        while (true) {
            boolean ended = process.waitFor(LOOK_MILLIS, TimeUnit.MILLISECONDS);
            if (output().split(Pattern.quote(text), -1).length > times) {
                return;
            }
            if (ended || Deadline.isOver(deadline)) {
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
     * Waits until the program listens, as far as the kernel shows that: for RDMA connections by {@code rdma resource show cm_id}
     * (rdma-resource(8)), for plain TCP by {@code /proc}. Returns at once if there is no rdma tool.
     *
     * @throws AssertionError if it ended or a step's time passed before that
     */
    public void awaitListening() throws IOException, InterruptedException {
        awaitListening(Deadline.end(step));
    }

    /**
     * Waits until the program listens, as {@link #awaitListening()} does.
     *
     * @param deadline until when, on the scale of {@link System#nanoTime}
     * @throws AssertionError if it ended or the deadline passed before that
     */
    public void awaitListening(long deadline) throws IOException, InterruptedException {
        while (!mayListen()) {
            awaitNextTry(deadline, null);
        }
    }

    private boolean mayListen() throws IOException, InterruptedException {
        return launch.isEmpty()
                ? RdmaResources.mayListen(process.pid())
                : RdmaResources.mayListen(launch, command.get(launch.size()));
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
     * Waits a moment for the end of the program, while there is time.
     *
     * @param deadline until when, on the scale of {@link System#nanoTime}
     * @return whether it has ended
     * @throws AssertionError if it still runs at the deadline
     */
    boolean awaitEnd(long deadline) throws InterruptedException {
        if (process.waitFor(LOOK_MILLIS, TimeUnit.MILLISECONDS)) {
            return true;
        }
        if (Deadline.isOver(deadline)) {
            throw new AssertionError("Still running after " + step.toSeconds() + " s: " + describe());
        }
        return false;
    }

    /** Returns whether a program that ended is not installed on the node that it was to run on. */
    boolean isMissing() {
        return !launch.isEmpty() && process.exitValue() == NOT_FOUND;
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

    /**
     * Waits a moment before the next try. The program must not end in this time.
     *
     * @param deadline the time after which there is no next try, on the scale of {@link System#nanoTime}
     * @param refusal the failure of the last try; null for none
     * @throws AssertionError if it ended or the deadline has passed
     * @throws org.opentest4j.TestAbortedException if it is not installed on the node
     */
    public void awaitNextTry(long deadline, @Nullable Throwable refusal) throws InterruptedException {
        if (process.waitFor(LOOK_MILLIS, TimeUnit.MILLISECONDS)) {
            if (isMissing()) {
                throw missing(command.get(launch.size()));
            }
            throw new AssertionError("The server ended before anybody was connected: " + describe(), refusal);
        }
        if (Deadline.isOver(deadline)) {
            throw new AssertionError(
                    "The server is not listening after " + step.toSeconds() + " s: " + describe(), refusal);
        }
    }

    /**
     * Kills the program if it still runs, as {@code kill -9} does, and waits until it is gone.
     *
     * @throws IllegalStateException if it is not gone after 10 s
     */
    public void kill() {
        // The method of Process would close the output as well, and lose its end.
        boolean ignored = process.toHandle().destroyForcibly();
        try {
            // A shell that was started for the program kills it then.
            process.getOutputStream().close();
        } catch (IOException e) {
            // The shell has ended, and has killed the program itself.
        }
        // Its port is free only after it is gone.
        CompletableFuture<Process> end = process.onExit().completeOnTimeout(null, GRACE.toSeconds(), TimeUnit.SECONDS);
        if (end.join() == null) {
            throw new IllegalStateException("%s (pid %d) was killed and has not ended within %d s%s"
                    .formatted(command(), process.pid(), GRACE.toSeconds(), heldIn(process.pid())));
        }
    }

    /** Soft-RoCE's driver lets a process wait for the last use of its memory, which no signal ends. */
    private static String heldIn(long pid) {
        try {
            String function =
                    Files.readString(Path.of("/proc/" + pid + "/wchan")).strip();
            return function.isEmpty() || function.equals("0") ? "" : ": the kernel holds it in " + function;
        } catch (IOException e) {
            return "";
        }
    }

    /** Kills the program if it still runs, and waits until it is gone and its output is read. */
    @Override
    public void close() {
        kill();
        String ignored = output();
    }
}
