package io.rdmatest.fabric.fault;

import io.rdmatest.fabric.FabricException;
import io.rdmatest.fabric.Node;
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
 * A fault of a node, until it is closed or its time is over.
 *
 * <p>It is held by a shell on the node, whose standard input ends when the fault is closed, and also when this process dies:
 * then the shell makes good what it broke. It is in a session of its own, so that whoever kills the launch command with all its
 * children does not kill that shell before it has done so.
 */
public final class ActiveFault implements AutoCloseable {

    private static final String LINE = "rdmatest-fault ";
    private static final int LAST_LINES = 5;
    private static final int LONGEST_LINE = 4096;

    /**
     * How long a node has for any one step; the way there may ask many before it says yes, and be emulated. The shell takes up
     * to 45 seconds to make good what it broke.
     */
    private static final Duration STEP = Duration.ofMinutes(1);

    private static final Duration END = Duration.ofSeconds(5);

    private final Node node;
    private final String what;
    private final Duration most;

    /** Whether what happens until it is closed is meant to happen with the fault; of others the end may be waited for. */
    private final boolean lasting;

    private final Process process;
    private final Thread reader;

    /** What the shell said; all below is guarded by this. */
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
     * Begins.
     *
     * @param node the node, with the device and port that are meant
     */
    static ActiveFault start(Node node, String kind, String with, Duration most) {
        String what = switch (kind) {
            case "network" -> with;
            case "link" -> "link down";
            case "address" -> "address " + with + " removed";
            default -> "device removed";
        };
        ActiveFault fault = new ActiveFault(node, what, most, kind.equals("network"));
        fault.reader.start();
        try {
            fault.write("kind=" + kind + " device=" + PosixShell.quote(node.device()) + " port=" + node.port()
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
            throw new UncheckedIOException("The script that breaks things can't be read", e);
        }
    }

    private void write(String text) {
        try {
            OutputStream out = process.getOutputStream();
            out.write(text.getBytes(StandardCharsets.UTF_8));
            out.flush();
        } catch (IOException e) {
            // The shell ended before it had read everything: it said why, or its end does.
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

    /** A prompt has no end of a line. */
    private String noise() {
        return Stream.concat(noise.stream(), Stream.of(unfinished.toString()))
                .filter(Predicate.not(String::isBlank))
                .collect(Collectors.joining(" / "));
    }

    /** Returns the node. */
    public Node node() {
        return node;
    }

    /** Returns what it is, for example {@code loss 2%} or {@code link down}. */
    public String what() {
        return what;
    }

    /**
     * Waits until the node says that it is broken: for a removed device, until no program has it open.
     *
     * @return what the node says, for example {@code eth0: qdisc netem 4792: parent 4791:4 limit 100000 loss 2%}
     * @throws FabricException if it could not be broken, or did not say so within a minute; the way to a node whose link is
     *     down may be what is broken, then it says so when the time of the fault is over
     */
    public String awaitApplied() {
        return await("applied", STEP);
    }

    /**
     * Waits until its time is over, and everything is good again.
     *
     * @throws FabricException if it could not be broken, or is not good again
     */
    public void awaitEnd() {
        await("removed", rest());
        close(false);
    }

    /**
     * Returns what the kernel counted of a network fault, as {@code tc -s qdisc show} tells it.
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
     * Ends the fault, and waits until everything is good again. Closing twice does nothing.
     *
     * @throws FabricException if the node says that it is not, or says nothing until the time of the fault is over and a minute
     *     more; if it never was broken; or if a fault of the network had ended by itself before: what was to be tried with it was
     *     tried in part without
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
                    + " s, before it was closed, so what came then met a good network; give it more time, of which it can"
                    + " have " + Faults.MOST.toSeconds() + " s, or do less meanwhile");
        }
    }

    /** What is left of its time, and a step. */
    private synchronized Duration rest() {
        return most.minusNanos(Math.min(most.toNanos(), System.nanoTime() - began))
                .plus(STEP);
    }

    private void closeInput() {
        try {
            process.getOutputStream().close();
        } catch (IOException e) {
            // It is not there any more.
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
            reader.join(END.toMillis());
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
            // This is the shell that holds the fault: it has to make it good.
            process.destroy();
            return;
        }
        List<ProcessHandle> family = new ArrayList<>(process.descendants().toList());
        process.destroyForcibly();
        family.forEach(ProcessHandle::destroyForcibly);
    }

    private synchronized String await(String word, Duration timeout) {
        long deadline = System.nanoTime() + timeout.toNanos();
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
                long millis = (deadline - System.nanoTime()) / 1_000_000;
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
                    // What is broken has to be made good before anybody goes on.
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
