package io.rdmatest.rsocket;

import static io.rdmatest.internal.BlockingCalls.UNKNOWN;

import io.rdmatest.internal.BlockingCalls;
import io.rdmatest.internal.Native;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A native call that waits for the peer's device, on its own thread, so that the caller can give up. The call is then
 * interrupted. If that does not end it, it ends when the transport gives up.
 */
final class DetachedCall {

    /**
     * How the call ended.
     *
     * @param result the return value
     * @param errno the errno; 0 if it returned 0
     * @param interruptedIn the kernel function in which it was interrupted; null if it was not
     * @param awaitedIn the kernel function in which it got more time; null if it needed none
     */
    record Outcome(
            long result,
            int errno,
            @Nullable String interruptedIn,
            @Nullable String awaitedIn) {}

    /** The interval of interrupts until the call ends. */
    private static final Duration AGAIN = Duration.ofMillis(20);

    /** Completed under this object's lock. Afterwards the thread's id must not be used. */
    private final CompletableFuture<Outcome> outcome = new CompletableFuture<>();

    private final String interruptible;
    private final Runnable whenAbandoned;

    /** The kernel's id of the call's thread, 0 before it runs. Guarded by this. */
    private int thread;

    /** Where in the kernel the call waited when it was interrupted. Guarded by this. */
    private @Nullable String interruptedIn;

    /** Where in the kernel the call waited when it was given more time. Guarded by this. */
    private @Nullable String awaitedIn;

    /** Guarded by this. */
    private boolean abandoned;

    private DetachedCall(String interruptible, Runnable whenAbandoned) {
        this.interruptible = interruptible;
        this.whenAbandoned = whenAbandoned;
    }

    /**
     * Starts a call.
     *
     * @param name the name of its thread
     * @param call the native call
     * @param interruptible a part of the name of the kernel function in which it may be interrupted
     * @param whenAbandoned runs on the call's thread when the call ends after the caller gave up
     */
    static DetachedCall start(String name, LongSupplier call, String interruptible, Runnable whenAbandoned) {
        DetachedCall detached = new DetachedCall(interruptible, whenAbandoned);
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
                    ? outcome.complete(new Outcome(result, errno, interruptedIn, awaitedIn))
                    : outcome.completeExceptionally(failure);
        }
        if (late) {
            whenAbandoned.run();
        }
    }

    /** Waits like {@link #await(Duration, Duration, Function)}, without more time for any kernel function. */
    Optional<Outcome> await(Duration limit, Duration grace) {
        return await(limit, grace, place -> Duration.ZERO);
    }

    /**
     * Waits for the end of the call, also if the thread is interrupted. It may be called again.
     *
     * @param limit the longest wait before the call is interrupted
     * @param grace the longest wait after the interrupt
     * @param patience returns additional time by the kernel function in which it waits
     * @return the outcome; empty if the call has not ended and is abandoned
     */
    Optional<Outcome> await(Duration limit, Duration grace, Function<String, Duration> patience) {
        boolean over = awaitUntil(System.nanoTime() + limit.toNanos());
        long last = System.nanoTime() + grace.toNanos();
        while (!over && last - System.nanoTime() > 0) {
            interruptCall();
            over = awaitUntil(Math.min(last, System.nanoTime() + AGAIN.toNanos()));
        }
        if (!over) {
            Duration more = moreTime(patience);
            if (more.isPositive()) {
                boolean ignored = awaitUntil(System.nanoTime() + more.toNanos());
            }
        }
        synchronized (this) {
            if (!outcome.isDone()) {
                abandoned = true;
                return Optional.empty();
            }
        }
        try {
            return Optional.of(outcome.join());
        } catch (CompletionException e) {
            throw Native.unchecked("the native call", e.getCause());
        }
    }

    /**
     * Interrupts the call if it is in the interruptible function; elsewhere the library could lose an answer of its own
     * thread. It interrupts only once if the kernel does not report the function. It never does so after the call's
     * end, when the thread's id may be reused.
     */
    private synchronized void interruptCall() {
        if (outcome.isDone()) {
            return;
        }
        String place = waitsIn();
        if (place.contains(interruptible) || thread != 0 && place.equals(UNKNOWN) && interruptedIn == null) {
            interruptedIn = place;
            boolean ignored = BlockingCalls.interrupt(thread);
        }
    }

    private synchronized Duration moreTime(Function<String, Duration> patience) {
        String place = waitsIn();
        Duration more = patience.apply(place);
        if (more.isPositive()) {
            awaitedIn = place;
        }
        return more;
    }

    private boolean awaitUntil(long deadline) {
        boolean wasInterrupted = false;
        try {
            while (true) {
                try {
                    Outcome ignored = outcome.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
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

    /** Returns where in the kernel the call waits; {@link BlockingCalls#UNKNOWN} if it has ended. */
    synchronized String waitsIn() {
        return outcome.isDone() || thread == 0 ? UNKNOWN : BlockingCalls.waitsIn(thread);
    }
}
