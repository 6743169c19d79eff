package io.rdmatest.fabric.fault;

import io.rdmatest.Deadline;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.fabric.Node;
import io.rdmatest.fabric.NodePort;
import io.rdmatest.peer.PosixShell;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * An active fault of a node. It ends when it is closed or its time is over.
 *
 * <p>A shell on the node holds the fault. Its standard input ends when the fault is closed or this process dies. Then
 * the shell repairs the node. The shell has its own session, so killing the launch command with its children does not
 * prevent the repair.
 */
public final class ActiveFault implements AutoCloseable {

    private static final String LINE = "rdmatest-fault ";
    private static final int LAST_LINES = 5;
    private static final int LONGEST_LINE = 4096;

    /**
     * The limit of each step. The connection to the node may be slow, and the node may be emulated. The shell takes up
     * to 45 seconds to repair the node.
     */
    private static final Duration STEP = Duration.ofMinutes(1);

    private static final Duration END = Duration.ofSeconds(5);

    private final Node node;
    private final String what;
    private final Duration most;

    /** Whether the test relies on the fault until it is closed. Other faults may end by themselves. */
    private final boolean lasting;

    private final Process process;
    private final Thread reader;

    /** The lines of the shell. All fields below are guarded by this. */
    private final List<String> said = new ArrayList<>();

    private final Deque<String> noise = new ArrayDeque<>();
    private final StringBuilder unfinished = new StringBuilder();
    private boolean ended;
    private boolean closed;
    private long began;

    private ActiveFault(Node node, String what, Duration most, boolean lasting) {
        this.node = node;
        this.what = what;
        this.most = most;
        this.lasting = lasting;
        List<String> command = new ArrayList<>(node.launch());
        command.addAll(List.of("setsid", "-w", "sh"));
        try {
            ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
            if (node.isLocal()) {
                builder.environment().remove(Faults.RUN_MARK);
            }
            process = builder.start();
        } catch (IOException e) {
            throw new FabricException(where() + ": '" + String.join(" ", command) + "' can't be started: "
                    + e.getMessage() + "; check the node's launch command");
        }
        reader = Thread.ofPlatform()
                .name("rdma-fault-" + node.name())
                .daemon(true)
                .unstarted(this::read);
    }

    /**
     * Starts a fault.
     *
     * @param on the node, with the device and port
     */
    static ActiveFault start(NodePort on, String kind, String with, Duration most) {
        String what = switch (kind) {
            case "network" -> with;
            case "link" -> "link down";
            case "address" -> "address " + with + " removed";
            default -> "device removed";
        };
        ActiveFault fault = new ActiveFault(on.node(), what, most, kind.equals("network"));
        fault.reader.start();
        try {
            fault.write("kind=" + kind + " device=" + PosixShell.quote(on.rail().device()) + " port="
                    + on.rail().port()
                    + " most=" + most.toSeconds() + " with=" + PosixShell.quote(with) + "\n" + script());
            fault.await("ready", STEP);
            synchronized (fault) {
                fault.began = System.nanoTime();
            }
            fault.write("go\n");
            return fault;
        } catch (RuntimeException | Error e) {
            fault.abandon();
            throw e;
        }
    }

    private static String script() {
        try (InputStream in = Objects.requireNonNull(ActiveFault.class.getResourceAsStream("fault.sh"), "fault.sh")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException("Can't read the script that injects faults", e);
        }
    }

    private void write(String text) {
        try {
            OutputStream out = process.getOutputStream();
            out.write(text.getBytes(StandardCharsets.UTF_8));
            out.flush();
        } catch (IOException e) {
            // The shell ended before it read everything. Its output or exit status has the reason.
            synchronized (this) {
                noise.add("(it did not read its script: " + e.getMessage() + ")");
            }
        }
    }

    private void read() {
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (int next = lines.read(); next >= 0; next = lines.read()) {
                synchronized (this) {
                    if (next == '\n') {
                        hear(unfinished.toString());
                        unfinished.setLength(0);
                    } else if (unfinished.length() < LONGEST_LINE) {
                        unfinished.append((char) next);
                    }
                }
            }
        } catch (IOException e) {
            synchronized (this) {
                noise.add("(its output can't be read: " + e.getMessage() + ")");
            }
        }
        synchronized (this) {
            if (!unfinished.isEmpty()) {
                hear(unfinished.toString());
                unfinished.setLength(0);
            }
            ended = true;
            notifyAll();
        }
    }

    private synchronized void hear(String line) {
        // The shell may have begun the line with words of its own.
        int start = line.indexOf(LINE);
        if (start >= 0) {
            said.add(line.substring(start + LINE.length()));
        }
        if (start != 0) {
            noise.add(start < 0 ? line : line.substring(0, start));
            if (noise.size() > LAST_LINES) {
                noise.remove();
            }
        }
        notifyAll();
    }

    /** Returns the other output, including an unfinished line such as a prompt. */
    private String noise() {
        return Stream.concat(noise.stream(), Stream.of(unfinished.toString()))
                .filter(Predicate.not(String::isBlank))
                .collect(Collectors.joining(" / "));
    }

    /** Returns the node. */
    public Node node() {
        return node;
    }

    /** Returns the fault as text, for example {@code loss 2%} or {@code link down}. */
    public String what() {
        return what;
    }

    /**
     * Waits until the node reports that the fault is applied; for a removed device, until no program has it open.
     *
     * @return the node's report, for example {@code eth0: qdisc netem 4792: parent 4791:4 limit 100000 loss 2%}
     * @throws FabricException if the fault could not be applied, or the node did not report it within a minute. If the
     *     link that is down also leads to the node, the report arrives when the fault's time is over
     */
    public String awaitApplied() {
        return await("applied", STEP);
    }

    /**
     * Waits until its time is over and the node is repaired.
     *
     * @throws FabricException if the fault could not be applied, or the node is not repaired
     */
    public void awaitEnd() {
        await("removed", rest());
        close(false);
    }

    /**
     * Returns the kernel's statistics of a network fault, as in {@code tc -s qdisc show}.
     *
     * @return the lines; empty before the fault is closed, and for other faults
     */
    public synchronized List<String> statistics() {
        return said.stream()
                .filter(line -> line.startsWith("statistics "))
                .map(line -> line.substring("statistics ".length()))
                .toList();
    }

    /**
     * Ends the fault, and waits until the node is repaired. Closing twice does nothing.
     *
     * @throws FabricException if the node reports a failed repair, or nothing until a minute after the fault's time; if
     *     the fault was never applied; or if a network fault ended by itself before, so that a part of the test ran
     *     without it
     */
    @Override
    public void close() {
        close(lasting);
    }

    private void close(boolean untilNow) {
        boolean over;
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            over = find("removed") != null;
        }
        try {
            closeInput();
            await("applied", rest());
            await("removed", rest());
        } finally {
            abandon();
        }
        if (over && untilNow) {
            throw new FabricException(where() + ": it ended by itself after " + most.toSeconds()
                    + " s, before it was closed, so the rest of the test ran on a good network; give it more time"
                    + " (at most " + Faults.MOST.toSeconds() + " s), or do less meanwhile");
        }
    }

    /** Returns its remaining time plus a step. */
    private synchronized Duration rest() {
        return most.minusNanos(Math.min(most.toNanos(), System.nanoTime() - began))
                .plus(STEP);
    }

    private void closeInput() {
        try {
            process.getOutputStream().close();
        } catch (IOException e) {
            // The shell has already ended.
            return;
        }
    }

    void abandon() {
        closeInput();
        boolean interrupted = false;
        try {
            if (!process.waitFor(END.toMillis(), TimeUnit.MILLISECONDS)) {
                end();
                process.waitFor(END.toMillis(), TimeUnit.MILLISECONDS);
            }
            boolean ignored = reader.join(END);
        } catch (InterruptedException e) {
            interrupted = true;
            end();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void end() {
        if (node.isLocal()) {
            // This shell holds the fault and must repair the node.
            process.destroy();
            return;
        }
        List<ProcessHandle> family = new ArrayList<>(process.descendants().toList());
        process.destroyForcibly();
        family.forEach(ProcessHandle::destroyForcibly);
    }

    private synchronized String await(String word, Duration timeout) {
        Deadline deadline = Deadline.after(timeout);
        boolean interrupted = false;
        try {
            while (true) {
                String failed = find("failed");
                if (failed != null) {
                    throw new FabricException(where() + ": " + failed);
                }
                String found = find(word);
                if (found != null) {
                    return found;
                }
                long millis = deadline.remaining().toMillis();
                if (ended || millis <= 0) {
                    throw new FabricException(where() + ": the node "
                            + (ended ? "ended" : "did not go on within " + timeout.toSeconds() + " s")
                            + " before it said '" + word + "'"
                            + (noise().isEmpty() ? "" : ", and wrote: " + noise())
                            + "; it makes everything good after " + most.toSeconds() + " s at the latest");
                }
                try {
                    wait(millis);
                } catch (InterruptedException e) {
                    // The node must be repaired before the caller continues.
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private @Nullable String find(String word) {
        for (String line : said) {
            if (line.equals(word) || line.startsWith(word + " ")) {
                return line.substring(Math.min(line.length(), word.length() + 1));
            }
        }
        return null;
    }

    private String where() {
        return "fault '" + what + "' on node " + node.name();
    }

    @Override
    public String toString() {
        return where();
    }
}
