package io.rdmatest.scenarios.role;

import io.rdmatest.Cause;
import io.rdmatest.Deadline;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.fabric.FabricDevice;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs the roles of a scenario in this JVM, each on its own thread.
 *
 * <p>The first failure of a role cancels the scenario. Every other role ends at its next wait, and {@link #close}
 * throws the first failure with the others suppressed. After {@link #close} no thread is left.
 */
public final class LocalRoles implements AutoCloseable {

    /** The limit for a cancelled role to end. */
    private static final Duration GRACE = Duration.ofSeconds(15);

    /** How long to wait for the failure that explains another one; the role that has it first releases its resources. */
    private static final Duration CAUSE = Duration.ofSeconds(5);

    private final AtomicBoolean cancelled = new AtomicBoolean();
    private final List<Running<?>> running = new CopyOnWriteArrayList<>();
    private final List<Throwable> failures = new ArrayList<>();

    /** The number of roles that have neither returned nor failed; guarded by the failures. */
    private int unfinished;

    /** The results of the two sides of a scenario. */
    public record Pair<A, B>(A server, B client) {}

    /**
     * A role on its thread.
     *
     * @param <R> its results
     */
    public final class Running<R> {

        private final String name;
        private final BlockingQueue<Optional<String>> inbox;
        private final BlockingQueue<Optional<String>> outbox;
        private final Thread thread;
        private volatile @Nullable R result;

        private Running(
                String name,
                Supplier<FabricDevice> device,
                Role<R> role,
                BlockingQueue<Optional<String>> inbox,
                BlockingQueue<Optional<String>> outbox) {
            this.name = name;
            this.inbox = inbox;
            this.outbox = outbox;
            RoleContext context = new Context(device, inbox, outbox);
            this.thread = Thread.ofPlatform()
                    .name("rdma-role-" + name)
                    .daemon(true)
                    .unstarted(() -> {
                        try {
                            result = role.run(context);
                            finished();
                        } catch (Throwable failure) {
                            // At once: one that waits for the cause must not see the end without the failure.
                            synchronized (failures) {
                                finished();
                                fail(failure);
                            }
                        }
                    });
        }

        /** Sends a message to the role. */
        public void tell(String message) {
            inbox.add(Optional.of(message));
        }

        /** Waits for the role's next message; ends early when any role of the scenario fails. */
        public String hear(String what, Duration timeout) {
            try {
                return await(outbox, name + ": " + what, timeout);
            } catch (RoleCancelledException e) {
                throw surface();
            }
        }

        /**
         * Waits for the role's end.
         *
         * @param timeout the longest wait
         * @return its results
         * @throws RdmaTimeoutException if it does not end in time
         * @throws RuntimeException the first failure of any role
         */
        public R join(Duration timeout) {
            Deadline deadline = Deadline.after(timeout);
            if (!joined(thread, deadline)) {
                throw new RdmaTimeoutException("end of the role " + name, deadline, "its thread is at " + top(thread));
            }
            R done = result;
            if (done == null) {
                throw surface();
            }
            return done;
        }
    }

    private final class Context implements RoleContext {

        private final Supplier<FabricDevice> device;
        private final BlockingQueue<Optional<String>> inbox;
        private final BlockingQueue<Optional<String>> outbox;

        private Context(
                Supplier<FabricDevice> device,
                BlockingQueue<Optional<String>> inbox,
                BlockingQueue<Optional<String>> outbox) {
            this.device = device;
            this.inbox = inbox;
            this.outbox = outbox;
        }

        @Override
        public FabricDevice device() {
            return device.get();
        }

        @Override
        public void tell(String message) {
            outbox.add(Optional.of(message));
        }

        @Override
        public String hear(String what, Duration timeout) {
            return await(inbox, what, timeout);
        }

        @Override
        public boolean isCancelled() {
            return cancelled.get();
        }
    }

    /**
     * Runs the two sides of a scenario until both ended. Their messages go to each other.
     *
     * @param device the device that both use
     * @param server the server, which starts first
     * @param client the client
     * @param timeout the limit for both together
     * @return the results of both
     * @throws RuntimeException the first failure of a side
     */
    public static <A, B> Pair<A, B> runPair(FabricDevice device, Role<A> server, Role<B> client, Duration timeout) {
        return runPair(() -> device, server, () -> device, client, timeout);
    }

    /**
     * Runs the two sides of a scenario until both ended, each on its own device.
     *
     * @param serverDevice supplies the server's device when the server needs it
     * @param server the server, which starts first
     * @param clientDevice supplies the client's device when the client needs it
     * @param client the client
     * @param timeout the limit for both together
     * @return the results of both
     * @throws RuntimeException the first failure of a side
     */
    public static <A, B> Pair<A, B> runPair(
            Supplier<FabricDevice> serverDevice,
            Role<A> server,
            Supplier<FabricDevice> clientDevice,
            Role<B> client,
            Duration timeout) {
        Deadline deadline = Deadline.after(timeout);
        try (LocalRoles roles = new LocalRoles()) {
            BlockingQueue<Optional<String>> toServer = new LinkedBlockingQueue<>();
            BlockingQueue<Optional<String>> toClient = new LinkedBlockingQueue<>();
            Running<A> first = roles.start(roles.new Running<>("server", serverDevice, server, toServer, toClient));
            Running<B> second = roles.start(roles.new Running<>("client", clientDevice, client, toClient, toServer));
            try {
                B clientResult = second.join(deadline.remaining());
                return new Pair<>(first.join(deadline.remaining()), clientResult);
            } catch (RuntimeException failure) {
                roles.cancel();
                throw failure;
            }
        }
    }

    /**
     * Starts a role that exchanges messages with the caller.
     *
     * @param name for thread names and messages, such as {@code receiver-1}
     * @param device the device to run on
     * @param role the role
     */
    public <R> Running<R> start(String name, FabricDevice device, Role<R> role) {
        return start(name, () -> device, role);
    }

    /**
     * Starts a role that exchanges messages with the caller.
     *
     * @param name for thread names and messages, such as {@code receiver-1}
     * @param device supplies the device when the role needs it
     * @param role the role
     */
    public <R> Running<R> start(String name, Supplier<FabricDevice> device, Role<R> role) {
        return start(new Running<>(name, device, role, new LinkedBlockingQueue<>(), new LinkedBlockingQueue<>()));
    }

    private <R> Running<R> start(Running<R> role) {
        running.add(role);
        synchronized (failures) {
            unfinished++;
        }
        try {
            role.thread.start();
        } catch (Throwable e) {
            // Out of memory for its stack: nobody is to wait for this role.
            finished();
            throw e;
        }
        return role;
    }

    private void finished() {
        synchronized (failures) {
            unfinished--;
            failures.notifyAll();
        }
    }

    private void fail(Throwable failure) {
        synchronized (failures) {
            if (mayFollow(failure)) {
                awaitCause();
            }
            if (!(failure instanceof RoleCancelledException) && !failures.contains(failure)) {
                failures.add(failure);
                failures.notifyAll();
            }
        }
        cancel();
    }

    /** Ends the waits of all roles for messages: an empty message in a queue is its end. */
    private void cancel() {
        cancelled.set(true);
        for (Running<?> role : running) {
            role.inbox.add(Optional.empty());
            role.outbox.add(Optional.empty());
        }
    }

    /** Returns whether a failure is what the failure of another role looks like from here. */
    private static boolean mayFollow(Throwable failure) {
        Cause cause = Cause.of(failure);
        return cause == Cause.FLUSHED || cause == Cause.PEER_LOST;
    }

    /**
     * Waits for a better explanation of a failure. A flushed request has another cause, often at the other side. For
     * example an access error breaks the responder's queue pair before the requester has the NAK. And a failed peer
     * closes its connection before its failure arrives here. The wait ends when all other roles have ended.
     */
    private void awaitCause() {
        Deadline deadline = Deadline.after(CAUSE);
        while (failures.isEmpty() && !cancelled.get() && unfinished > 0) {
            int left = deadline.millis((int) CAUSE.toMillis());
            if (left == 0) {
                // A wait of 0 has no limit.
                return;
            }
            try {
                failures.wait(left);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }

    /** Returns the first failure; {@link #close} then throws only other failures. */
    private RuntimeException surface() {
        synchronized (failures) {
            if (failures.isEmpty()) {
                return new RoleCancelledException();
            }
            Throwable first = failures.removeFirst();
            if (first instanceof Error error) {
                throw error;
            }
            return (RuntimeException) first;
        }
    }

    private String await(BlockingQueue<Optional<String>> queue, String what, Duration timeout) {
        Deadline deadline = Deadline.after(timeout);
        if (cancelled.get()) {
            throw new RoleCancelledException();
        }
        Optional<String> message;
        try {
            message = queue.poll(deadline.nanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new RoleCancelledException();
        }
        if (message == null) {
            throw new RdmaTimeoutException(what, deadline, "the other side sent nothing");
        }
        return message.orElseThrow(RoleCancelledException::new);
    }

    /**
     * Ends and joins every role.
     *
     * @throws RuntimeException the first failure of a role, with the others suppressed
     */
    @Override
    public void close() {
        Deadline deadline = Deadline.after(GRACE);
        cancel();
        for (Running<?> role : running) {
            if (!joined(role.thread, deadline)) {
                fail(new IllegalStateException("The role " + role.name + " did not end within " + GRACE.toSeconds()
                        + " s; it is at " + top(role.thread)));
            }
        }
        synchronized (failures) {
            if (failures.isEmpty()) {
                return;
            }
            Throwable first = failures.getFirst();
            failures.stream().skip(1).forEach(first::addSuppressed);
            failures.clear();
            if (first instanceof Error error) {
                throw error;
            }
            throw (RuntimeException) first;
        }
    }

    /** Joins a thread. An interrupt of the caller, such as a test's time limit, cancels the roles at once. */
    private boolean joined(Thread thread, Deadline deadline) {
        return deadline.join(thread, this::cancel);
    }

    private static String top(Thread thread) {
        StackTraceElement[] stack = thread.getStackTrace();
        return stack.length == 0 ? "its end" : stack[0].toString();
    }
}
