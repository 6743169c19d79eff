package io.rdmatest.peer;

import com.fasterxml.jackson.databind.JsonNode;
import io.rdmatest.Deadline;
import io.rdmatest.peer.PeerLostException.Reason;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The launched side of a channel. It runs roles. It ends on request, at the end of its standard input, or when the
 * launching side stops answering. Its roles then get some seconds to release their resources.
 */
public final class Agent {

    /**
     * System property: the temporary folder of the agent's jar, which the agent removes at its start. Empty or absent
     * if there is none.
     */
    public static final String FOLDER = "rdmatest.agent.folder";

    private static final int LOST = 3;

    /** Runs the roles that the launching side starts. */
    public interface Runner {

        /**
         * Runs a role to its end. Each role has its own thread.
         *
         * @param task the role
         * @return the results
         * @throws Exception the failure of the role
         */
        JsonNode run(Task task) throws Exception;

        /**
         * Describes this node's state after a failure.
         *
         * @param task the role that failed
         * @param failure its failure
         * @return any number of lines; may be empty
         */
        String diagnose(Task task, Throwable failure);
    }

    /** A role, and its connection to the launching side. */
    public static final class Task {

        private final Wire wire;
        private final PeerMessage.Start start;
        private final BlockingQueue<String> inbox = new LinkedBlockingQueue<>();
        private final BooleanSupplier ending;
        private volatile boolean cancelled;

        private Task(Wire wire, PeerMessage.Start start, BooleanSupplier ending) {
            this.wire = wire;
            this.start = start;
            this.ending = ending;
        }

        /** Returns its name, for threads and messages. */
        public String name() {
            return start.name();
        }

        /** Returns its registered type. */
        public String kind() {
            return start.kind();
        }

        /** Returns its parameters. */
        public JsonNode parameters() {
            return start.parameters();
        }

        /** Returns where on this node it runs. */
        public JsonNode place() {
            return start.place();
        }

        /**
         * Sends a message to the launching side. Never waits.
         *
         * @param text one line
         */
        public void tell(String text) {
            wire.send(new PeerMessage.Tell(start.role(), text));
        }

        /**
         * Sends a line for people. Never waits.
         *
         * @param kind the kind of line
         * @param text one line
         */
        public void say(LineKind kind, String text) {
            wire.send(new PeerMessage.Line(start.role(), kind, text));
        }

        /**
         * Waits for the next message of the launching side.
         *
         * @param most the longest wait
         * @return the message; empty if none came
         * @throws InterruptedException if the thread is interrupted
         */
        public Optional<String> hear(Duration most) throws InterruptedException {
            return Optional.ofNullable(inbox.poll(most.toNanos(), TimeUnit.NANOSECONDS));
        }

        /** Returns whether the role was cancelled or the agent is ending. */
        public boolean isCancelled() {
            return cancelled || ending.getAsBoolean();
        }
    }

    private final Runner runner;
    private final PeerSettings settings;
    private final Wire wire;
    private final Map<Long, Task> tasks = new ConcurrentHashMap<>();
    private final Map<Long, Thread> threads = new ConcurrentHashMap<>();
    private final CountDownLatch end = new CountDownLatch(1);
    private volatile boolean ending;
    private volatile int status;

    private Agent(InputStream in, OutputStream out, PeerSettings settings, Runner runner) {
        this.runner = runner;
        this.settings = settings;
        this.wire = new Wire("agent", in, out, settings, true, new Listener());
    }

    /**
     * Makes this JVM an agent on its standard input and output, and ends the JVM afterwards. The exit status is 0 after
     * a request to end, 3 when the launching side is lost. Standard output is redirected to standard error, which is
     * the node's log.
     *
     * @param settings the time limits; the launching side's heartbeat and patience replace these
     * @param runner runs the roles
     */
    public static void main(PeerSettings settings, Runner runner) {
        System.setOut(System.err);
        int status = LOST;
        try {
            removeFolder();
            status = new Agent(
                            new FileInputStream(FileDescriptor.in),
                            new FileOutputStream(FileDescriptor.out),
                            settings,
                            runner)
                    .serve();
        } catch (Throwable e) {
            System.err.println("rdmatest-agent: " + e);
            e.printStackTrace();
        } finally {
            System.err.flush();
            // A role stuck in native code, or a library's thread, must not keep the process alive.
            Runtime.getRuntime().halt(status);
        }
    }

    private static void removeFolder() {
        String folder = System.getProperty(FOLDER, "");
        if (folder.isEmpty()) {
            return;
        }
        try {
            Files.deleteIfExists(Path.of(folder, "rdmatest-agent.jar"));
            Files.deleteIfExists(Path.of(folder));
        } catch (IOException e) {
            throw new UncheckedIOException("Can't remove the folder " + folder + " of the agent's jar", e);
        }
    }

    private int serve() throws InterruptedException {
        wire.open();
        wire.greet();
        end.await();
        ending = true;
        Deadline deadline = Deadline.after(settings.grace());
        for (Thread thread : threads.values()) {
            if (!thread.join(deadline.remaining())) {
                System.err.println("rdmatest-agent: the thread " + thread.getName() + " did not end within "
                        + settings.grace().toSeconds() + " s; it is in " + top(thread));
            }
        }
        wire.finish();
        wire.join(Duration.ofSeconds(1));
        return status;
    }

    private static String top(Thread thread) {
        StackTraceElement[] stack = thread.getStackTrace();
        return stack.length == 0 ? "its end" : stack[0].toString();
    }

    private final class Listener implements Wire.Listener {

        @Override
        public void banner(String line) {
            throw new IllegalArgumentException("the other side sent this before its hello: " + line);
        }

        @Override
        public void greeted(PeerMessage.Hello hello) {}

        @Override
        public void received(PeerMessage message) {
            switch (message) {
                case PeerMessage.Start start -> start(start);
                case PeerMessage.Tell tell -> {
                    Task task = tasks.get(tell.role());
                    // The role may have ended before the message arrived.
                    if (task != null) {
                        task.inbox.add(tell.text());
                    }
                }
                case PeerMessage.Cancel cancel -> {
                    Task task = tasks.get(cancel.role());
                    if (task != null) {
                        task.cancelled = true;
                    }
                }
                case PeerMessage.Bye bye -> end.countDown();
                case PeerMessage.Hello again -> throw new IllegalArgumentException("a second hello");
                case PeerMessage.Heartbeat heartbeat -> {}
                case PeerMessage.Line line -> throw unasked(line);
                case PeerMessage.Result result -> throw unasked(result);
                case PeerMessage.Diagnosis diagnosis -> throw unasked(diagnosis);
                case PeerMessage.Failure failure -> throw unasked(failure);
            }
        }

        private static IllegalArgumentException unasked(PeerMessage message) {
            return new IllegalArgumentException(
                    "a message that only an agent sends: " + message.getClass().getSimpleName());
        }

        @Override
        public void ended(Wire.Ending ending) {
            if (end.getCount() > 0 && ending.reason() != Reason.ENDED) {
                System.err.println("rdmatest-agent: ends, because the launching side " + ending.words());
            }
            if (end.getCount() > 0) {
                status = LOST;
            }
            end.countDown();
        }
    }

    private void start(PeerMessage.Start start) {
        Task task = new Task(wire, start, () -> ending);
        if (tasks.putIfAbsent(start.role(), task) != null) {
            throw new IllegalArgumentException("role " + start.role() + " is already running");
        }
        Thread thread = Thread.ofPlatform()
                .name("rdma-role-" + start.name())
                .daemon(true)
                .unstarted(() -> run(task));
        threads.put(start.role(), thread);
        thread.start();
    }

    private void run(Task task) {
        long role = task.start.role();
        PeerMessage last;
        @Nullable Throwable failed = null;
        try {
            last = new PeerMessage.Result(role, runner.run(task));
        } catch (Throwable failure) {
            failed = failure;
            last = new PeerMessage.Failure(role, PeerFailure.of(failure));
        }
        if (failed != null && !ending) {
            try {
                wire.send(new PeerMessage.Diagnosis(role, runner.diagnose(task, failed)));
            } catch (Throwable e) {
                wire.send(new PeerMessage.Diagnosis(role, "the diagnosis failed: " + e));
            }
        }
        wire.send(last);
        tasks.remove(role);
        threads.remove(role);
    }
}
