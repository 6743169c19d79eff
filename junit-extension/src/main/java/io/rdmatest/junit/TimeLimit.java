package io.rdmatest.junit;

import java.time.Duration;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.InvocationInterceptor.Invocation;
import org.opentest4j.AssertionFailedError;

/**
 * Bounds an invocation in time, on the thread it runs on.
 *
 * <p>The thread is interrupted rather than left behind, as a preemptive limit would do: arenas may be confined to it,
 * listeners attribute report entries by thread, and an abandoned thread would go on using queue pairs that are being
 * destroyed. Every wait of the harness polls in slices and has a deadline of its own, so an interrupt is enough as a rule.
 * Code that heeds no interrupt, such as a loop that polls a completion queue, is helped out by {@link Rescue}.
 */
final class TimeLimit implements AutoCloseable {

    /** What may end an invocation that heeds no interrupt; called once, on the watchdog's thread. */
    @FunctionalInterface
    interface Rescue {
        void attempt();
    }

    private static final Duration GRACE = Duration.ofSeconds(2);

    private final ScheduledThreadPoolExecutor watchdog;

    TimeLimit() {
        watchdog = new ScheduledThreadPoolExecutor(
                1, Thread.ofPlatform().daemon().name("rdma-watchdog").factory());
        watchdog.setRemoveOnCancelPolicy(true);
    }

    /**
     * Runs the invocation.
     *
     * @param what names it in the failure
     * @param limit how long it may take
     * @param state tells, while it hangs, what there is to know: the likely cause in the first line, which may be empty,
     *     and more after it
     * @param rescue frees it when it did not react to the interrupt
     * @throws AssertionFailedError if it took longer
     */
    <T extends @Nullable Object> T bound(
            Invocation<T> invocation, String what, Duration limit, Supplier<String> state, Rescue rescue)
            throws Throwable {
        Expiry expiry = new Expiry(Thread.currentThread(), what, limit, state, rescue);
        ScheduledFuture<?> schedule =
                watchdog.scheduleWithFixedDelay(expiry, limit.toNanos(), GRACE.toNanos(), TimeUnit.NANOSECONDS);
        T result = null;
        Throwable failure = null;
        try {
            result = invocation.proceed();
        } catch (Throwable e) {
            failure = e;
        }
        boolean expired = expiry.end();
        schedule.cancel(false);
        if (expired) {
            AssertionFailedError timeout = expiry.failure();
            if (failure != null) {
                timeout.addSuppressed(failure);
            }
            throw timeout;
        }
        if (failure != null) {
            throw failure;
        }
        return result;
    }

    @Override
    public void close() {
        watchdog.shutdownNow();
    }

    private static final class Expiry implements Runnable {
        private final Thread thread;
        private final String what;
        private final Duration limit;
        private final Supplier<String> state;
        private final Rescue rescue;
        private boolean ended;
        private int turns;
        private StackTraceElement[] stack = {};
        private String seen = "";

        Expiry(Thread thread, String what, Duration limit, Supplier<String> state, Rescue rescue) {
            this.thread = thread;
            this.what = what;
            this.limit = limit;
            this.state = state;
            this.rescue = rescue;
        }

        @Override
        public synchronized void run() {
            if (ended) {
                return;
            }
            turns++;
            if (turns == 1) {
                stack = thread.getStackTrace();
                try {
                    // Before the interrupt: the test would begin to take down what is to be looked at.
                    seen = state.get();
                } catch (RuntimeException e) {
                    seen = "the state could not be read: " + e;
                }
            }
            if (turns == 2) {
                System.err.println(what + " does not react to its timeout; it is in" + frames(thread.getStackTrace()));
                try {
                    rescue.attempt();
                } catch (RuntimeException e) {
                    System.err.println(what + " could not be rescued: " + e);
                }
            }
            thread.interrupt();
        }

        /** Returns whether the limit has expired; from now on the thread is not interrupted any more. */
        synchronized boolean end() {
            ended = true;
            if (turns > 0) {
                // The interrupt was meant for the invocation that is over.
                boolean ignored = Thread.interrupted();
            }
            return turns > 0;
        }

        AssertionFailedError failure() {
            String[] lines = seen.split("\\R", 2);
            AssertionFailedError failure = new AssertionFailedError(what + " did not finish within "
                    + Quantity.words(limit) + (lines[0].isEmpty() ? "" : ": " + lines[0]) + "; it was in"
                    + frames(stack) + (lines.length == 1 ? "" : System.lineSeparator() + lines[1]));
            failure.setStackTrace(stack);
            return failure;
        }

        private static String frames(StackTraceElement[] stack) {
            StringBuilder text = new StringBuilder();
            int shown = 0;
            for (StackTraceElement frame : stack) {
                if (frame.getClassName().startsWith("org.junit.")
                        || frame.getClassName().startsWith("jdk.internal.reflect.")
                        || shown == 12) {
                    break;
                }
                text.append(System.lineSeparator()).append("  at ").append(frame);
                shown++;
            }
            return text.toString();
        }
    }
}
