package io.rdmatest.junit.engine;

import io.rdmatest.Cause;
import io.rdmatest.junit.Quantity;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.InvocationInterceptor.Invocation;

/**
 * Bounds an invocation in time, on the thread it runs on.
 *
 * <p>The thread is interrupted rather than left behind, as a preemptive limit would do: arenas may be confined to it,
 * listeners attribute report entries by thread, and an abandoned thread would go on using queue pairs that are being
 * destroyed. Every wait of the harness polls in slices and has a deadline of its own, so an interrupt is enough as a rule.
 * Code that heeds no interrupt, such as a loop that polls a completion queue, is helped out by {@link Rescue}.
 *
 * <p>The watchdog serves all tests of a run and never waits: it starts a thread for each invocation whose time has run out.
 * That thread looks at the state and attempts the rescue, each for a limited time, for a device that hangs may hang these too.
 */
public final class TimeLimit implements AutoCloseable {

    /** What may end an invocation that heeds no interrupt; called once, on a thread of its own. */
    @FunctionalInterface
    interface Rescue {
        void attempt();
    }

    /**
     * How long an invocation may take.
     *
     * @param duration the time
     * @param source the key or annotation that sets it, for the message
     */
    public record Limit(Duration duration, String source) {}

    private static final Duration GRACE = Duration.ofSeconds(2);

    /** How long looking at the state may take before the interrupt, and the rescue after it. */
    private static final Duration PATIENCE = Duration.ofSeconds(25);

    private final ScheduledThreadPoolExecutor watchdog;
    private final Duration patience;

    TimeLimit() {
        this(PATIENCE);
    }

    TimeLimit(Duration patience) {
        this.patience = patience;
        watchdog = new ScheduledThreadPoolExecutor(
                1, Thread.ofPlatform().daemon().name("rdma-watchdog").factory());
        watchdog.setRemoveOnCancelPolicy(true);
    }

    /** Tells whether a debugger may stop this JVM, as JUnit's timeout mode {@code disabled_on_debug} does. */
    static boolean isDebugged() {
        return isDebugged(ManagementFactory.getRuntimeMXBean().getInputArguments());
    }

    static boolean isDebugged(Iterable<String> arguments) {
        for (String argument : arguments) {
            if (argument.startsWith("-agentlib:jdwp") || argument.startsWith("-Xrunjdwp")) {
                return true;
            }
        }
        return false;
    }

    /**
     * Runs the invocation.
     *
     * @param what names it in the failure
     * @param limit how long it may take
     * @param state tells, while it hangs, what there is to know: the likely cause in the first line, which may be empty,
     *     and more after it
     * @param rescue frees it when it did not react to the interrupt
     * @throws TestFaultError if it took longer
     */
    <T extends @Nullable Object> T bound(
            Invocation<T> invocation, String what, Limit limit, Supplier<String> state, Rescue rescue)
            throws Throwable {
        Running running = start(what, limit, state, rescue);
        T result = null;
        Throwable failure = null;
        try {
            result = invocation.proceed();
        } catch (Throwable e) {
            failure = e;
        }
        Optional<TestFaultError> timeout = running.end();
        if (timeout.isPresent()) {
            if (failure != null) {
                timeout.get().addSuppressed(failure);
            }
            throw timeout.get();
        }
        if (failure != null) {
            throw failure;
        }
        return result;
    }

    /** Begins to limit what the calling thread does next, where no interceptor stands around it; for the parameters, see bound. */
    Running start(String what, Limit limit, Supplier<String> state, Rescue rescue) {
        Expiry expiry = new Expiry(Thread.currentThread(), what, limit, state, rescue);
        return new Running(
                expiry, watchdog.schedule(expiry::begin, limit.duration().toNanos(), TimeUnit.NANOSECONDS));
    }

    /** What is limited until it ends. */
    static final class Running {
        private final Expiry expiry;
        private final ScheduledFuture<?> schedule;
        private Optional<TestFaultError> outcome = Optional.empty();
        private boolean ended;

        private Running(Expiry expiry, ScheduledFuture<?> schedule) {
            this.expiry = expiry;
            this.schedule = schedule;
        }

        /** Returns the failure if it took longer; the same each time. */
        synchronized Optional<TestFaultError> end() {
            if (!ended) {
                ended = true;
                schedule.cancel(false);
                outcome = expiry.end() ? Optional.of(expiry.failure()) : Optional.empty();
            }
            return outcome;
        }
    }

    @Override
    public void close() {
        watchdog.shutdownNow();
    }

    private final class Expiry implements Runnable {
        private final Thread thread;
        private final String what;
        private final Limit limit;
        private final Supplier<String> state;
        private final Rescue rescue;
        private final CountDownLatch over = new CountDownLatch(1);
        private final CountDownLatch looked = new CountDownLatch(1);
        private boolean begun;
        private boolean ended;
        private volatile StackTraceElement[] stack = {};
        private volatile String seen = "";

        Expiry(Thread thread, String what, Limit limit, Supplier<String> state, Rescue rescue) {
            this.thread = thread;
            this.what = what;
            this.limit = limit;
            this.state = state;
            this.rescue = rescue;
        }

        /** On the watchdog. */
        synchronized void begin() {
            if (!ended) {
                begun = true;
                try {
                    Thread ignored =
                            Thread.ofPlatform().daemon().name("rdma-timeout").start(this);
                } catch (OutOfMemoryError e) {
                    // The host has no thread left. Nobody looks then, and the end must not wait for a look.
                    seen = "the state could not be read: " + e.getMessage();
                    looked.countDown();
                    interrupt();
                }
            }
        }

        @Override
        public void run() {
            stack = thread.getStackTrace();
            try {
                // Before the interrupt: the test would begin to take down what is to be looked at.
                seen = Diagnosis.bounded(state, patience);
            } catch (RuntimeException e) {
                seen = "the state could not be read: " + e.getMessage();
            } finally {
                looked.countDown();
            }
            interrupt();
            if (isOver()) {
                return;
            }
            System.err.println(what + " does not react to its timeout; it is in" + frames(thread.getStackTrace()));
            try {
                Diagnosis.bounded(
                        () -> {
                            rescue.attempt();
                            return "";
                        },
                        patience);
            } catch (RuntimeException e) {
                System.err.println(what + " could not be rescued: " + e.getMessage());
            }
            do {
                interrupt();
            } while (!isOver());
        }

        private synchronized void interrupt() {
            if (!ended) {
                thread.interrupt();
            }
        }

        /** Waits for the end of the invocation for a while. */
        private boolean isOver() {
            try {
                return over.await(GRACE.toNanos(), TimeUnit.NANOSECONDS);
            } catch (InterruptedException e) {
                return true;
            }
        }

        /** Returns whether the limit has expired; from now on the thread is not interrupted any more. */
        boolean end() {
            synchronized (this) {
                ended = true;
                over.countDown();
                if (!begun) {
                    return false;
                }
                // The interrupt was meant for the invocation that is over.
                boolean ignored = Thread.interrupted();
            }
            boolean interrupted = false;
            while (true) {
                try {
                    // What is looked at is released after this.
                    looked.await();
                    break;
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
            return true;
        }

        TestFaultError failure() {
            String[] lines = seen.split("\\R", 2);
            TestFaultError failure = new TestFaultError(
                    Cause.TIME_LIMIT,
                    what + " did not finish within " + Quantity.words(limit.duration()) + " (" + limit.source() + ")"
                            + (lines[0].isEmpty() ? "" : ": " + lines[0]) + "; it was in" + frames(stack)
                            + (lines.length == 1 ? "" : System.lineSeparator() + lines[1]));
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
