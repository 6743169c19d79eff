package io.rdmatest.scenarios.engine;

import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.WorkCompletionException;
import io.rdmatest.fabric.FabricDevice;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs the roles of a scenario in this JVM, each on a thread of its own.
 *
 * <p>The first role that fails decides: the scenario is given up, every other role ends at its next wait, and
 * {@link #close} throws that first failure with the others suppressed. When {@link #close} returns, no thread is left.
 */
public final class LocalRoles implements AutoCloseable {

    /** How long a role may take to notice that it is to end; its own waits look every few milliseconds. */
    private static final Duration GRACE = Duration.ofSeconds(15);

    /** How long a flushed request waits for a failure that explains it; a peer's retries take longer. */
    private static final Duration CAUSE = Duration.ofMillis(200);

    /** How long a lost peer's own failure is waited for; it releases what it has first. */
    private static final Duration CAUSE_OF_LOSS = Duration.ofSeconds(5);

    /** How often a wait for a message looks whether the scenario was given up. */
    private static final Duration SLICE = Duration.ofMillis(20);

    private final AtomicBoolean cancelled = new AtomicBoolean();
    private final List<Running<?>> running = new CopyOnWriteArrayList<>();
    private final List<Throwable> failures = new ArrayList<>();

    /** The roles whose failures came here; guarded by the failures. */
    private int failing;

    /** The results of the two sides of a scenario. */
    public record Pair<A, B>(A server, B client) {}

    /**
     * A role on its thread.
     *
     * @param <R> its results
     */
    public final class Running<R> {

        private final String name;
        private final BlockingQueue<String> inbox;
        private final BlockingQueue<String> outbox;
        private final Thread thread;
        private volatile @Nullable R result;

        private Running(
                String name,
                Supplier<FabricDevice> device,
                Role<R> role,
                BlockingQueue<String> inbox,
                BlockingQueue<String> outbox) {
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
                        } catch (Throwable failure) {
                            fail(failure);
                        }
                    });
        }

        /** Sends a message to the role. */
        public void tell(String message) {
            inbox.add(message);
        }

        /** Waits for the role's next message; gives up when any role of the scenario failed. */
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
         * @param timeout how long at most
         * @return its results
         * @throws RdmaTimeoutException if it does not end in time
         * @throws RuntimeException the failure of the role that failed first, whichever it was
         */
        public R join(Duration timeout) {
            joinThread(thread, timeout);
            if (thread.isAlive()) {
                throw new RdmaTimeoutException("end of the role " + name, timeout, "its thread is at " + top(thread));
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
        private final BlockingQueue<String> inbox;
        private final BlockingQueue<String> outbox;

        private Context(Supplier<FabricDevice> device, BlockingQueue<String> inbox, BlockingQueue<String> outbox) {
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
            outbox.add(message);
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
     * Runs the two sides of a scenario, their messages going to each other, until both ended.
     *
     * @param device the device that both use
     * @param server started first
     * @param client the other side
     * @param timeout how long both may take together
     * @return the results of both
     * @throws RuntimeException the failure of the side that failed first
     */
    public static <A, B> Pair<A, B> runPair(FabricDevice device, Role<A> server, Role<B> client, Duration timeout) {
        return runPair(() -> device, server, () -> device, client, timeout);
    }

    /**
     * Runs the two sides of a scenario, each on its own device, until both ended.
     *
     * @param serverDevice the server's device, asked for when the server needs it
     * @param server started first
     * @param clientDevice the client's device, asked for when the client needs it
     * @param client the other side
     * @param timeout how long both may take together
     * @return the results of both
     * @throws RuntimeException the failure of the side that failed first
     */
    public static <A, B> Pair<A, B> runPair(
            Supplier<FabricDevice> serverDevice,
            Role<A> server,
            Supplier<FabricDevice> clientDevice,
            Role<B> client,
            Duration timeout) {
        long deadline = System.nanoTime() + timeout.toNanos();
        try (LocalRoles roles = new LocalRoles()) {
            BlockingQueue<String> toServer = new LinkedBlockingQueue<>();
            BlockingQueue<String> toClient = new LinkedBlockingQueue<>();
            Running<A> first = roles.start(roles.new Running<>("server", serverDevice, server, toServer, toClient));
            Running<B> second = roles.start(roles.new Running<>("client", clientDevice, client, toClient, toServer));
            try {
                B clientResult = second.join(Waits.remaining(deadline));
                return new Pair<>(first.join(Waits.remaining(deadline)), clientResult);
            } catch (RuntimeException failure) {
                roles.cancelled.set(true);
                throw failure;
            }
        }
    }

    /**
     * Starts a role whose messages go to and come from the caller.
     *
     * @param name for thread names and messages, such as {@code receiver-1}
     * @param device the device to run on
     * @param role the role
     */
    public <R> Running<R> start(String name, FabricDevice device, Role<R> role) {
        return start(name, () -> device, role);
    }

    /**
     * Starts a role whose messages go to and come from the caller.
     *
     * @param name for thread names and messages, such as {@code receiver-1}
     * @param device the device to run on, asked for when the role needs it
     * @param role the role
     */
    public <R> Running<R> start(String name, Supplier<FabricDevice> device, Role<R> role) {
        return start(new Running<>(name, device, role, new LinkedBlockingQueue<>(), new LinkedBlockingQueue<>()));
    }

    private <R> Running<R> start(Running<R> role) {
        running.add(role);
        role.thread.start();
        return role;
    }

    private void fail(Throwable failure) {
        synchronized (failures) {
            failing++;
            failures.notifyAll();
            if (isFlush(failure)) {
                awaitCause(CAUSE);
            } else if (isLoss(failure)) {
                awaitCause(CAUSE_OF_LOSS);
            }
            if (!(failure instanceof RoleCancelledException) && !failures.contains(failure)) {
                failures.add(failure);
                failures.notifyAll();
            }
        }
        cancelled.set(true);
    }

    private static boolean isFlush(Throwable failure) {
        return failure instanceof WorkCompletionException completion
                && completion.statusName().equals("IBV_WC_WR_FLUSH_ERR");
    }

    private static boolean isLoss(Throwable failure) {
        return failure instanceof ScenarioException lost && lost.reason() == ScenarioException.Reason.PEER_LOST;
    }

    /**
     * A request is flushed because something else went wrong, often at the other side, which learns of it later: an access
     * error breaks the responder's queue pair before the requester has the answer. And a peer that fails closes its
     * connection before its failure comes here. Whoever knows the cause goes first; nobody is waited for who failed as well.
     */
    private void awaitCause(Duration most) {
        long deadline = System.nanoTime() + most.toNanos();
        while (failures.isEmpty() && !cancelled.get() && othersRun()) {
            long millis = Waits.remaining(deadline).toMillis();
            if (millis == 0) {
                return;
            }
            try {
                failures.wait(millis);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }

    private boolean othersRun() {
        return running.stream().filter(role -> role.thread.isAlive()).count() > failing;
    }

    /** Returns what decided the scenario; {@link #close} then throws only what else there is. */
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

    private String await(BlockingQueue<String> queue, String what, Duration timeout) {
        long deadline = System.nanoTime() + timeout.toNanos();
        while (true) {
            if (cancelled.get()) {
                throw new RoleCancelledException();
            }
            try {
                String message = queue.poll(SLICE.toMillis(), TimeUnit.MILLISECONDS);
                if (message != null) {
                    return message;
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new RoleCancelledException();
            }
            if (System.nanoTime() - deadline >= 0) {
                throw new RdmaTimeoutException(what, timeout, "the other side said nothing");
            }
        }
    }

    /**
     * Ends and joins every role.
     *
     * @throws RuntimeException the failure of the role that failed first, the others suppressed
     */
    @Override
    public void close() {
        long deadline = System.nanoTime() + GRACE.toNanos();
        cancelled.set(true);
        for (Running<?> role : running) {
            joinThread(role.thread, Waits.remaining(deadline));
            if (role.thread.isAlive()) {
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

    /** Gives an interrupted caller (a test's time limit) the chance to end the roles at once. */
    private void joinThread(Thread thread, Duration timeout) {
        boolean interrupted = false;
        long deadline = System.nanoTime() + timeout.toNanos();
        while (thread.isAlive()) {
            Duration left = Waits.remaining(deadline);
            if (left.isZero()) {
                break;
            }
            try {
                if (thread.join(left)) {
                    break;
                }
            } catch (InterruptedException e) {
                interrupted = true;
                cancelled.set(true);
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static String top(Thread thread) {
        StackTraceElement[] stack = thread.getStackTrace();
        return stack.length == 0 ? "its end" : stack[0].toString();
    }
}
