package io.rdmatest.rsocket;

import io.rdmatest.Deadline;
import io.rdmatest.internal.BlockingCalls;
import io.rdmatest.internal.Native;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;

/**
 * A native call that waits for the peer's device, on its own thread, so that the caller can give up. A call that lasts too long
 * is interrupted: a wait for a completion event then ends. An interrupt does not end the kernel's release of memory. Such a call
 * gets more time.
 */
final class DetachedCall {

    /** How the call ended. */
    enum End {
        /** It was not interrupted. */
        RETURNED,
        /** It returned soon after an interrupt, which ended its wait. */
        INTERRUPTED,
        /** It returned long after the last interrupt, which most likely had no effect. */
        RETURNED_LATE
    }

    /**
     * The outcome of the call.
     *
     * @param result the return value
     * @param errno the errno; 0 if it returned 0
     * @param end how it ended
     */
    record Outcome(long result, int errno, End end) {}

    /**
     * The interval of interrupts. An interrupt has no effect on a system call that is about to begin, so a few are tried. The
     * interval is long, because after the first interrupt the library asks its own thread and waits some microseconds for the
     * answer. An interrupt in that time would lose the answer.
     */
    private static final Duration AGAIN = Duration.ofMillis(500);

    private record Returned(long result, int errno) {}

    /** Completed under this object's lock. Afterwards the thread's id must not be used. */
    private final CompletableFuture<Returned> returned = new CompletableFuture<>();

    private final Runnable whenAbandoned;

    /** The kernel's id of the call's thread, 0 before it runs. Guarded by this. */
    private int thread;

    /** Guarded by this. */
    private boolean interrupted;

    /** Guarded by this. */
    private boolean abandoned;

    private DetachedCall(Runnable whenAbandoned) {
        this.whenAbandoned = whenAbandoned;
    }

    /**
     * Starts a call.
     *
     * @param name the name of its thread
     * @param call the native call
     * @param whenAbandoned runs on the call's thread when the call ends after the caller gave up
     */
    static DetachedCall start(String name, LongSupplier call, Runnable whenAbandoned) {
        DetachedCall detached = new DetachedCall(whenAbandoned);
        Thread.ofPlatform().daemon().name(name).start(() -> detached.run(call));
        return detached;
    }

    private void run(LongSupplier call) {
        synchronized (this) {
            thread = BlockingCalls.currentThread();
        }
        long result = 0;
        int errno = 0;
        Throwable failure = null;
        try {
            result = call.getAsLong();
            errno = result == 0 ? 0 : Native.errno();
        } catch (Throwable e) {
            failure = e;
        }
        boolean late;
        synchronized (this) {
            late = abandoned;
            boolean ignored = failure == null
                    ? returned.complete(new Returned(result, errno))
                    : returned.completeExceptionally(failure);
        }
        if (late) {
            whenAbandoned.run();
        }
    }

    /**
     * Waits for the end of the call, also if the thread is interrupted. It may be called again.
     *
     * @param limit the longest wait before the call is interrupted
     * @param grace the time after the first interrupt in which the call ends if the interrupt has an effect
     * @param more the longest wait after that
     * @return the outcome; empty if the call has not ended and is abandoned
     */
    Optional<Outcome> await(Duration limit, Duration grace, Duration more) {
        boolean over = await(limit);
        End end = wasInterrupted() ? End.RETURNED_LATE : End.RETURNED;
        Deadline last = Deadline.after(grace);
        while (!over && !last.isOver()) {
            if (interruptCall()) {
                end = End.INTERRUPTED;
            }
            Duration left = last.remaining();
            over = await(left.compareTo(AGAIN) < 0 ? left : AGAIN);
        }
        if (!over) {
            end = End.RETURNED_LATE;
            boolean ignored = await(more);
        }
        synchronized (this) {
            if (!returned.isDone()) {
                abandoned = true;
                return Optional.empty();
            }
        }
        try {
            Returned known = returned.join();
            return Optional.of(new Outcome(known.result(), known.errno(), end));
        } catch (CompletionException e) {
            throw Native.unchecked("the native call", e.getCause());
        }
    }

    /** Interrupts the call, but never after its end: the thread's id may be reused then. */
    private synchronized boolean interruptCall() {
        boolean done = !returned.isDone() && thread != 0 && BlockingCalls.interrupt(thread);
        interrupted |= done;
        return done;
    }

    private synchronized boolean wasInterrupted() {
        return interrupted;
    }

    private boolean await(Duration most) {
        Deadline deadline = Deadline.after(most);
        boolean wasInterrupted = false;
        try {
            while (true) {
                try {
                    Returned ignored = returned.get(deadline.nanos(), TimeUnit.NANOSECONDS);
                    return true;
                } catch (InterruptedException e) {
                    wasInterrupted = true;
                } catch (TimeoutException e) {
                    return false;
                } catch (ExecutionException e) {
                    return true;
                }
            }
        } finally {
            if (wasInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Returns where an administrator finds out what the call waits for. */
    String whereToLook() {
        int id;
        synchronized (this) {
            id = thread;
        }
        return "/proc/" + ProcessHandle.current().pid() + "/task/" + id
                + "/stack shows root where in the kernel it waits";
    }
}
