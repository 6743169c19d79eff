package io.rdmatest.peer;

import com.fasterxml.jackson.databind.JsonNode;
import io.rdmatest.Deadline;
import io.rdmatest.peer.PeerLostException.Reason;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * An agent on a node, seen from the launching side. It starts roles there, and notices when the agent dies or hangs.
 *
 * <p>A command starts the agent on this host, or on another one through {@code ssh}, {@code srun} or {@code kubectl
 * exec}. The agent's standard input and output are the channel, its standard error is the node's log. Closing ends the
 * agent and the tree of processes that the command started on this host, in bounded time. Processes that have left this
 * tree as daemons are not found.
 */
public final class Peer implements AutoCloseable {

    private static final int LOG_LINES = 200;
    private static final int LOG_LINE = 2000;
    private static final Duration SHORTLY = Duration.ofSeconds(2);

    private final String node;
    private final List<String> command;
    private final PeerSettings settings;
    private final @Nullable Bootstrap bootstrap;
    private final Process process;
    private final Wire wire;
    private final Thread logReader;
    private final Deque<String> log = new ArrayDeque<>();
    private final Set<ProcessHandle> tree = new LinkedHashSet<>();
    private final AtomicLong numbers = new AtomicLong();
    private final Map<Long, RemoteRole> roles = new ConcurrentHashMap<>();
    private final CompletableFuture<PeerMessage.Hello> hello = new CompletableFuture<>();
    private volatile @Nullable PeerLostException lost;
    private volatile boolean closing;

    private Peer(String node, List<String> command, @Nullable Bootstrap bootstrap, PeerSettings settings) {
        this.node = node;
        this.command = List.copyOf(command);
        this.bootstrap = bootstrap;
        this.settings = settings;
        try {
            process = new ProcessBuilder(command).start();
        } catch (IOException e) {
            PeerLostException failure = new PeerLostException(
                    Reason.NOT_STARTED,
                    node,
                    this.command,
                    OptionalInt.empty(),
                    List.of(),
                    "did not start: " + e.getMessage() + "; check the launch command");
            failure.initCause(e);
            throw failure;
        }
        logReader = Thread.ofPlatform()
                .name("rdma-peer-" + node + "-log")
                .daemon(true)
                .unstarted(this::readLog);
        wire = new Wire(node, process.getInputStream(), process.getOutputStream(), settings, false, new Listener());
    }

    /**
     * Starts an agent by a command that passes its standard input and output to the agent.
     *
     * @param node the node's name, for messages
     * @param command the command, for example {@code java -jar rdmatest-agent.jar}
     * @param settings the time limits
     * @return the agent, after its hello
     * @throws PeerLostException if no agent answers in time
     */
    public static Peer start(String node, List<String> command, PeerSettings settings) {
        return new Peer(node, command, null, settings).open();
    }

    /**
     * Copies an agent to a node and starts it there with the first suitable JDK that {@link NodeJava} finds. The
     * command gets {@code sh} as its last argument and must pass on the shell's standard input and output. The jar is
     * copied over the same channel, unless the node has it at the same path with the same SHA-256.
     *
     * @param node the node's name, for messages
     * @param launch the command that runs another command on the node, for example {@code ssh root@b.example}; empty
     *     for this host
     * @param agent the jar
     * @param settings the time limits
     * @return the agent, after its hello
     * @throws PeerLostException if no agent answers in time; the message says what the node lacks
     * @throws java.io.UncheckedIOException if the jar can't be read
     */
    public static Peer launch(String node, List<String> launch, Path agent, PeerSettings settings) {
        return launch(node, launch, null, Map.of(), agent, settings);
    }

    /**
     * Copies an agent to a node and starts it there with a chosen JDK and environment.
     *
     * @param node the node's name, for messages
     * @param launch the command that runs another command on the node, for example {@code ssh root@b.example}; empty
     *     for this host
     * @param java the program {@code java} on the node: a command on its PATH or an absolute path; null for the first
     *     suitable one
     * @param environment more environment variables for the agent. The search for a JDK and the choice of the temporary
     *     folder use them, too. Names are valid names of shell variables
     * @param agent the jar
     * @param settings the time limits
     * @return the agent, after its hello
     * @throws IllegalArgumentException if the environment has an invalid variable name
     * @throws PeerLostException if no agent answers in time; the message says what the node lacks
     * @throws java.io.UncheckedIOException if the jar can't be read
     */
    public static Peer launch(
            String node,
            List<String> launch,
            @Nullable String java,
            Map<String, String> environment,
            Path agent,
            PeerSettings settings) {
        Bootstrap bootstrap = Bootstrap.of(agent, java, environment);
        return new Peer(node, Bootstrap.command(launch), bootstrap, settings).open();
    }

    private Peer open() {
        logReader.start();
        wire.open();
        try {
            if (bootstrap != null) {
                OutputStream out = process.getOutputStream();
                out.write(bootstrap.script());
                out.flush();
            }
        } catch (IOException e) {
            // The command ended before it read the script. The end of the channel reports why.
            note("(it did not read the script that starts the agent: " + e.getMessage() + ")");
        }
        try {
            hello.get(settings.start().plus(settings.grace()).toMillis(), TimeUnit.MILLISECONDS);
            refreshTree();
            return this;
        } catch (ExecutionException e) {
            close();
            throw e.getCause() instanceof PeerLostException loss ? loss.again() : new IllegalStateException(e);
        } catch (TimeoutException e) {
            close();
            noteUnfinished();
            throw loss(Reason.SILENT, "did not say hello within " + settings.start());
        } catch (InterruptedException e) {
            close();
            Thread.currentThread().interrupt();
            throw loss(Reason.NOT_STARTED, "did not start: the waiting thread was interrupted");
        }
    }

    /** Returns the node's name. */
    public String node() {
        return node;
    }

    /** Returns the node's name with its host and the agent's process id. */
    public String describe() {
        PeerMessage.Hello said = hello.isDone() && !hello.isCompletedExceptionally() ? hello.join() : null;
        return said == null ? node : node + " (host " + said.host() + ", process " + said.pid() + ")";
    }

    /** Returns the process id of the agent on its host. */
    public long pid() {
        return hello.join().pid();
    }

    /** Returns the last lines of the node's log; may be empty. */
    public List<String> log() {
        synchronized (log) {
            return List.copyOf(log);
        }
    }

    /** Returns whether the agent is alive, as far as this side knows. */
    public boolean isAlive() {
        return lost == null && !closing;
    }

    /**
     * Starts a role.
     *
     * @param name for threads and messages on the node
     * @param kind its registered type
     * @param parameters its parameters
     * @param place where on the node it runs, as the agent understands it
     * @return the running role; if the node is lost, its only event is the loss
     * @throws IllegalStateException after {@link #close}
     */
    public RemoteRole start(String name, String kind, JsonNode parameters, JsonNode place) {
        if (closing) {
            throw new IllegalStateException("The agent of node " + node + " is closed");
        }
        long number = numbers.incrementAndGet();
        RemoteRole role = new RemoteRole(this, number);
        roles.put(number, role);
        send(new PeerMessage.Start(number, name, kind, parameters, place));
        PeerLostException loss = lost;
        if (loss == null && closing) {
            // Another thread may have closed this peer before the role was in the map.
            loss = loss(Reason.ENDED, "was closed");
        }
        if (loss != null && roles.remove(number) != null) {
            role.add(new RemoteRole.Failed(loss.again()));
        }
        return role;
    }

    void send(PeerMessage message) {
        wire.send(message);
    }

    private final class Listener implements Wire.Listener {

        @Override
        public void banner(String line) throws IOException {
            if (bootstrap == null) {
                note(line);
            } else if (Bootstrap.isEcho(line)) {
                wire.end(
                        Reason.GARBAGE,
                        "echoes the script that its shell must run: the launch command allocates a terminal, or does"
                                + " not run the words that follow it; leave out ssh -t, kubectl exec -t and srun"
                                + " --pty");
            } else {
                note(bootstrap.answer(line, process.getOutputStream()));
            }
        }

        @Override
        public void greeted(PeerMessage.Hello said) {
            wire.greet();
            hello.complete(said);
        }

        @Override
        public void received(PeerMessage message) {
            switch (message) {
                case PeerMessage.Tell tell ->
                    running(tell.role()).ifPresent(role -> role.add(new RemoteRole.Told(tell.text())));
                case PeerMessage.Line line ->
                    running(line.role()).ifPresent(role -> role.add(new RemoteRole.Said(line.kind(), line.text())));
                case PeerMessage.Diagnosis diagnosis ->
                    running(diagnosis.role()).ifPresent(role -> role.diagnosed(diagnosis.text()));
                case PeerMessage.Result result ->
                    ending(result.role()).ifPresent(role -> role.add(new RemoteRole.Done(result.value())));
                case PeerMessage.Failure failure ->
                    ending(failure.role())
                            .ifPresent(role -> role.add(new RemoteRole.Failed(new RemoteFailureException(
                                    failure.failure(), describe(), role.diagnosis() + logText()))));
                case PeerMessage.Bye bye -> note("(the agent ended the channel: " + bye.reason() + ")");
                case PeerMessage.Heartbeat heartbeat -> {}
                case PeerMessage.Hello again -> throw new IllegalArgumentException("a second hello");
                case PeerMessage.Start start -> throw new IllegalArgumentException("an agent must not start roles");
                case PeerMessage.Cancel cancel -> throw new IllegalArgumentException("an agent must not cancel roles");
            }
        }

        @Override
        public void ended(Wire.Ending ending) {
            lose(ending);
        }
    }

    private Optional<RemoteRole> running(long number) {
        return started(number, roles.get(number));
    }

    private Optional<RemoteRole> ending(long number) {
        return started(number, roles.remove(number));
    }

    /**
     * A role's thread may outlive the role and still send; such messages are dropped. Messages of unknown roles are
     * errors.
     */
    private Optional<RemoteRole> started(long number, @Nullable RemoteRole role) {
        if (number < 1 || number > numbers.get()) {
            throw new IllegalArgumentException("a message of role " + number + ", which was never started");
        }
        return Optional.ofNullable(role);
    }

    private String logText() {
        List<String> lines = log();
        return lines.isEmpty()
                ? ""
                : System.lineSeparator() + "log of " + node + ":" + System.lineSeparator() + "  "
                        + String.join(System.lineSeparator() + "  ", lines);
    }

    // ---- the end ----

    /** Ends every wait of every role at once. */
    private void lose(Wire.Ending ending) {
        boolean byItself = ending.reason() == Reason.ENDED && exited(SHORTLY);
        OptionalInt status = byItself ? OptionalInt.of(process.exitValue()) : OptionalInt.empty();
        destroyTree();
        exited(SHORTLY);
        join(logReader, SHORTLY);
        closePipes();
        String when = hello.isDone() ? "" : " before its agent said hello";
        noteUnfinished();
        String words = ending.words();
        if (byItself) {
            int exit = process.exitValue();
            words = "ended with exit status " + exit + when
                    + (exit > 128 && exit < 160 ? " (signal " + (exit - 128) + ")" : "")
                    + (bootstrap == null ? "" : bootstrap.explain(exit));
        }
        PeerLostException loss = new PeerLostException(ending.reason(), node, command, status, log(), words);
        lost = loss;
        hello.completeExceptionally(loss);
        for (Long number : roles.keySet()) {
            RemoteRole role = roles.remove(number);
            if (role != null) {
                role.add(new RemoteRole.Failed(loss.again()));
            }
        }
    }

    private PeerLostException loss(Reason reason, String words) {
        return new PeerLostException(reason, node, command, OptionalInt.empty(), log(), words);
    }

    /**
     * Asks the agent to end, gives its roles the grace period of the settings, and kills the rest of the process tree.
     * Closing twice does nothing.
     */
    @Override
    public void close() {
        synchronized (this) {
            if (closing) {
                return;
            }
            closing = true;
        }
        if (lost == null && hello.isDone()) {
            refreshTree();
            wire.send(new PeerMessage.Bye("closed"));
            wire.finish();
            exited(settings.grace().plus(SHORTLY));
        }
        wire.stop();
        destroyTree();
        exited(SHORTLY);
        wire.join(SHORTLY);
        join(logReader, SHORTLY);
        closePipes();
        PeerLostException loss = loss(Reason.ENDED, "was closed");
        for (Long number : roles.keySet()) {
            RemoteRole role = roles.remove(number);
            if (role != null) {
                role.add(new RemoteRole.Failed(loss.again()));
            }
        }
    }

    private void refreshTree() {
        synchronized (tree) {
            tree.addAll(Descendants.of(process.toHandle(), Descendants.PROC));
        }
    }

    private void destroyTree() {
        refreshTree();
        // Through its handle: Process.destroy would close the pipes before the rest of the log is read.
        boolean ignored = process.toHandle().destroyForcibly();
        synchronized (tree) {
            // A handle knows the start time of its process, so a reused process id does no harm.
            tree.forEach(ProcessHandle::destroyForcibly);
        }
    }

    /** Called when everything was read, or nothing more is awaited. */
    private void closePipes() {
        process.destroyForcibly();
    }

    private boolean exited(Duration most) {
        boolean interrupted = false;
        Deadline deadline = Deadline.after(most);
        try {
            while (true) {
                try {
                    return process.waitFor(deadline.nanos(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static void join(Thread thread, Duration most) {
        try {
            boolean ignored = thread.join(most);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    // ---- the log ----

    private void readLog() {
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getErrorStream(), StandardCharsets.UTF_8))) {
            StringBuilder line = new StringBuilder();
            for (int next = lines.read(); next >= 0; next = lines.read()) {
                if (next == '\n') {
                    note(line.toString());
                    line.setLength(0);
                } else if (line.length() < LOG_LINE) {
                    line.append((char) next);
                }
            }
            if (!line.isEmpty()) {
                note(line.toString());
            }
        } catch (IOException e) {
            note("(can't read the log any more: " + e.getMessage() + ")");
        }
    }

    /** Notes an unfinished line: a prompt ends without a newline. */
    private void noteUnfinished() {
        String unfinished = wire.unfinished();
        if (!hello.isDone() && !unfinished.isBlank()) {
            note(unfinished);
        }
    }

    private void note(String line) {
        if (line.isEmpty()) {
            return;
        }
        synchronized (log) {
            if (log.size() == LOG_LINES) {
                String ignored = log.removeFirst();
            }
            log.addLast(line.length() <= LOG_LINE ? line : line.substring(0, LOG_LINE) + "…");
        }
    }
}
