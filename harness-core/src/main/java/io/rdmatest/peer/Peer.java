package io.rdmatest.peer;

import com.fasterxml.jackson.databind.JsonNode;
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
 * An agent on a node, as whoever launched it sees it: starts roles there, and notices when it dies or hangs.
 *
 * <p>The agent is the process that a command starts, on this host or, through {@code ssh}, {@code srun}, {@code kubectl exec}
 * and the like, on another; its standard input and output are the channel, its standard error is the node's log. Closing ends
 * the agent and the tree of processes on this host that the command started, in bounded time. Processes that left this tree
 * by making themselves daemons can't be found.
 */
public final class Peer implements AutoCloseable {

    private static final int LOG_LINES = 200;
    private static final int LOG_LINE = 2000;
    private static final Duration SHORTLY = Duration.ofSeconds(2);

    private final String node;
    private final List<String> command;
    private final PeerSettings settings;
    private final FailureTypes failureTypes;
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

    private Peer(
            String node,
            List<String> command,
            @Nullable Bootstrap bootstrap,
            PeerSettings settings,
            FailureTypes failureTypes) {
        this.node = node;
        this.command = List.copyOf(command);
        this.bootstrap = bootstrap;
        this.settings = settings;
        this.failureTypes = failureTypes;
        try {
            process = new ProcessBuilder(command).start();
        } catch (IOException e) {
            PeerLostException failure = new PeerLostException(
                    Reason.NOT_STARTED,
                    node,
                    this.command,
                    OptionalInt.empty(),
                    List.of(),
                    "can't be started: " + e.getMessage() + "; check the launch command");
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
     * Starts an agent by a command whose standard input and output are the agent's.
     *
     * @param node the node's name, for messages
     * @param command the command, for example {@code java -jar rdmatest-agent.jar}
     * @param settings how long to wait
     * @param failureTypes the failures that keep their type
     * @return the agent, which has said hello
     * @throws PeerLostException if there is no agent in time
     */
    public static Peer start(String node, List<String> command, PeerSettings settings, FailureTypes failureTypes) {
        return new Peer(node, command, null, settings, failureTypes).open();
    }

    /**
     * Brings an agent to a node and starts it there with the newest suitable JDK that it finds. The command has to give a
     * shell's standard input and output: {@code sh} is added to it. The jar goes over the same channel, unless the node has
     * it under the same path, with the same SHA-256.
     *
     * @param node the node's name, for messages
     * @param launch the command that runs another one on the node, for example {@code ssh root@b.example}; empty for this host
     * @param agent the jar
     * @param settings how long to wait
     * @param failureTypes the failures that keep their type
     * @return the agent, which has said hello
     * @throws PeerLostException if there is no agent in time: the message says what is missing there
     * @throws java.io.UncheckedIOException if the jar can't be read
     */
    public static Peer launch(
            String node, List<String> launch, Path agent, PeerSettings settings, FailureTypes failureTypes) {
        return launch(node, launch, null, Map.of(), agent, settings, failureTypes);
    }

    /**
     * Brings an agent to a node and starts it there with a JDK and variables of the caller's choice.
     *
     * @param node the node's name, for messages
     * @param launch the command that runs another one on the node, for example {@code ssh root@b.example}; empty for this host
     * @param java the program {@code java} on the node, a command on its PATH or an absolute path, and no other; null for the
     *     first suitable one that is found
     * @param environment variables for the agent beside those that the node has; the search for a JDK and the folder for
     *     temporary files follow them, too. Names are those of a shell's variables
     * @param agent the jar
     * @param settings how long to wait
     * @param failureTypes the failures that keep their type
     * @return the agent, which has said hello
     * @throws IllegalArgumentException if a name in the environment is none of a shell's variable
     * @throws PeerLostException if there is no agent in time: the message says what is missing there
     * @throws java.io.UncheckedIOException if the jar can't be read
     */
    public static Peer launch(
            String node,
            List<String> launch,
            @Nullable String java,
            Map<String, String> environment,
            Path agent,
            PeerSettings settings,
            FailureTypes failureTypes) {
        Bootstrap bootstrap = Bootstrap.of(agent, java, environment);
        return new Peer(node, Bootstrap.command(launch), bootstrap, settings, failureTypes).open();
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
            // The command ended before it read a script: the channel's end tells what it said.
            note("(it did not take the script that starts the agent: " + e.getMessage() + ")");
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
            throw loss(Reason.NOT_STARTED, "was not waited for: the thread was interrupted");
        }
    }

    /** Returns the node's name. */
    public String node() {
        return node;
    }

    /** Returns the node's name with its host and the agent's process there. */
    public String describe() {
        PeerMessage.Hello said = hello.isDone() && !hello.isCompletedExceptionally() ? hello.join() : null;
        return said == null ? node : node + " (host " + said.host() + ", process " + said.pid() + ")";
    }

    /** Returns the process of the agent, as its own host numbers it. */
    public long pid() {
        return hello.join().pid();
    }

    /** Returns the last lines of the node's log; may be empty. */
    public List<String> log() {
        synchronized (log) {
            return List.copyOf(log);
        }
    }

    /** Tells whether the agent is there, as far as it is known by now. */
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
     * @return the running role; if the node is lost, that is what comes from it
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
            // Closed meanwhile by another thread, which may have looked at the roles before this one was there.
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
                        "sends the script for its shell back: the launch command gives it a terminal, or does not run the"
                                + " words that follow it; leave out ssh -t, kubectl exec -t and srun --pty");
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
                    ending(failure.role()).ifPresent(role -> {
                        Throwable rebuilt = failureTypes.rebuild(failure.failure());
                        rebuilt.addSuppressed(
                                new RemoteOrigin(describe(), failure.failure().stack(), role.diagnosis() + logText()));
                        role.add(new RemoteRole.Failed(rebuilt));
                    });
                case PeerMessage.Bye bye -> note("(the agent says goodbye: " + bye.reason() + ")");
                case PeerMessage.Heartbeat heartbeat -> {}
                case PeerMessage.Hello again -> throw new IllegalArgumentException("a second hello");
                case PeerMessage.Start start -> throw new IllegalArgumentException("an agent starts no roles here");
                case PeerMessage.Cancel cancel -> throw new IllegalArgumentException("an agent cancels no roles here");
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

    /** A thread of a role may outlive it and have something to say, which nobody listens to; of others nothing can come. */
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

    /** Every wait of every role ends with this, at once. */
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
     * Ends the agent: it is asked to, its roles have the time that the settings grant, and what is left of the tree of
     * processes is killed. Closing twice does nothing.
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
            process.toHandle().descendants().forEach(tree::add);
        }
    }

    private void destroyTree() {
        refreshTree();
        // Through its handle: destroying the process itself would close
        // its pipes, and with them what is still to be read of its log.
        boolean ignored = process.toHandle().destroyForcibly();
        synchronized (tree) {
            // Handles know when a process started: a number that is used again does no harm.
            tree.forEach(ProcessHandle::destroyForcibly);
        }
    }

    /** To be called when all was read, or nothing more is waited for. */
    private void closePipes() {
        process.destroyForcibly();
    }

    private boolean exited(Duration most) {
        boolean interrupted = false;
        long deadline = System.nanoTime() + most.toNanos();
        try {
            while (true) {
                try {
                    return process.waitFor(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
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
            note("(the log can't be read any more: " + e.getMessage() + ")");
        }
    }

    /** A prompt has no end of a line. */
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
