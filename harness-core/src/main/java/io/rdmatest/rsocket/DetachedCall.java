package io.rdmatest.rsocket;

import io.rdmatest.internal.Native;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;

/**
 * A native call that waits for the peer's device and can't be told to stop, on a thread of its own: whoever waits for it can
 * give up, and the call ends by itself when the transport has given up.
 */
final class DetachedCall {

    /**
     * How the call ended.
     *
     * @param result what it returned
     * @param errno errno behind it; 0 if it returned 0
     */
    record Outcome(long result, int errno) {}

    private final CompletableFuture<Outcome> outcome = new CompletableFuture<>();
    private final Runnable whenAbandoned;

    /** Guarded by this. */
    private boolean ended;

    /** Guarded by this. */
    private boolean abandoned;

    private DetachedCall(Runnable whenAbandoned) {
        this.whenAbandoned = whenAbandoned;
    }

    /**
     * Starts a call.
     *
     * @param name of its thread
     * @param call the native call
     * @param whenAbandoned run on the call's thread when the call ends after nobody waits any more
     */
    static DetachedCall start(String name, LongSupplier call, Runnable whenAbandoned) {
        DetachedCall detached = new DetachedCall(whenAbandoned);
        Thread.ofPlatform().daemon().name(name).start(() -> detached.run(call));
        return detached;
    }

    private void run(LongSupplier call) {
        Outcome done = null;
        Throwable failure = null;
        try {
            long result = call.getAsLong();
            done = new Outcome(result, result == 0 ? 0 : Native.errno());
        } catch (Throwable e) {
            failure = e;
        }
        boolean late;
        synchronized (this) {
            ended = true;
            late = abandoned;
        }
        if (failure != null) {
            boolean ignored = outcome.completeExceptionally(failure);
        } else {
            boolean ignored = outcome.complete(done);
        }
        if (late) {
            whenAbandoned.run();
        }
    }

    /**
     * Waits for the end of the call, also while the thread is interrupted; may be called again.
     *
     * @param limit how long at most
     * @return how it ended; nothing if the time is over, and the call abandoned
     */
    Optional<Outcome> await(Duration limit) {
        long deadline = System.nanoTime() + limit.toNanos();
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return Optional.of(outcome.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS));
                } catch (InterruptedException e) {
                    interrupted = true;
                } catch (TimeoutException e) {
                    synchronized (this) {
                        if (!ended) {
                            abandoned = true;
                            return Optional.empty();
                        }
                    }
                    return Optional.of(outcome.join());
                } catch (java.util.concurrent.ExecutionException e) {
                    throw Native.unchecked("the native call", e.getCause());
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
