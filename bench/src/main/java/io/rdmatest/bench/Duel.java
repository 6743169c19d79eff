package io.rdmatest.bench;

import io.rdmatest.Deadline;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.Completions;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Two ends of a connection on two threads of this JVM, both busy polling, as the two processes of perftest do. Each wait ends:
 * at the deadline, and when the other end failed.
 */
final class Duel {

    /**
     * How often an end polls in vain before it looks at the clock, and lets others run, should more be running than there are
     * processors. Not often: a thread that is asked for its processor at the wrong moment sees its message tens of microseconds
     * later.
     */
    private static final int POLLS_PER_LOOK = 1 << 13;

    private static final Duration GRACE = Duration.ofSeconds(10);

    private final long deadline;
    private final Duration limit;
    private final Processors processors;
    private volatile boolean over;
    private volatile @Nullable Throwable serverFailure;

    /** An end of the connection. */
    @FunctionalInterface
    interface End {

        /** Does the work of this end. */
        void run();
    }

    /**
     * Prepares a run.
     *
     * @param context how long it may take, and on which processors
     */
    Duel(BenchContext context) {
        this.limit = context.step();
        this.processors = context.processors();
        this.deadline = System.nanoTime() + limit.toNanos();
    }

    /**
     * Runs both ends, the client on the calling thread.
     *
     * @throws RuntimeException the failure of the end that failed first
     * @throws InterruptedException if this thread is interrupted while it waits for the server's end
     */
    void run(End server, End client) throws InterruptedException {
        Thread thread = Thread.ofPlatform()
                .name("rdmatest-bench-server")
                .daemon(true)
                .start(() -> {
                    try {
                        run(server, processors.server());
                    } catch (Throwable e) {
                        serverFailure = e;
                        over = true;
                    }
                });
        Throwable failure = null;
        try {
            run(client, processors.client());
        } catch (RuntimeException | Error e) {
            failure = e;
            over = true;
        }
        // It ends by itself at the latest at the deadline, and must not outlive the memory that it polls.
        if (!thread.join(limit.plus(GRACE))) {
            throw new IllegalStateException("The server's end of the measurement did not end", failure);
        }
        Throwable other = serverFailure;
        if (other != null && !(other instanceof OtherEndFailedException)) {
            throw unchecked(other, failure);
        }
        if (failure != null) {
            throw unchecked(failure, other);
        }
    }

    private static void run(End end, int processor) {
        try (Processors.Binding ignored = new Processors.Binding(processor)) {
            end.run();
        }
    }

    private static RuntimeException unchecked(Throwable first, @Nullable Throwable second) {
        if (second != null && second != first) {
            first.addSuppressed(second);
        }
        if (first instanceof Error error) {
            throw error;
        }
        return (RuntimeException) first;
    }

    /** Ends the one end because the other one failed. */
    private static final class OtherEndFailedException extends RuntimeException {

        private static final long serialVersionUID = 1L;

        OtherEndFailedException() {
            super("the other end of the connection failed");
        }
    }

    /** Looks now and then whether the wait has to end. */
    void look(int polls, String what) {
        if ((polls & (POLLS_PER_LOOK - 1)) == 0) {
            Thread.yield();
            if (over) {
                throw new OtherEndFailedException();
            }
            if (System.nanoTime() - deadline >= 0) {
                throw new RdmaTimeoutException(what, Deadline.of(deadline, limit), "nothing came any more");
            }
        }
    }

    /** Polls until there is at least one completion, and requires that all that came are of success. */
    int await(CompletionQueue queue, Completions into, String what) {
        for (int polls = 1; ; polls++) {
            int came = queue.poll(into);
            if (came > 0) {
                require(into, came);
                return came;
            }
            look(polls, what);
        }
    }

    /** Requires that completions are of success. */
    static void require(Completions completions, int count) {
        for (int i = 0; i < count; i++) {
            if (!completions.isSuccess(i)) {
                throw completions.get(i).exception();
            }
        }
    }
}
