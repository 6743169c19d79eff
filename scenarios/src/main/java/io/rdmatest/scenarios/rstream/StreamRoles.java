package io.rdmatest.scenarios.rstream;

import io.rdmatest.Cause;
import io.rdmatest.Deadline;
import io.rdmatest.scenarios.role.Fault;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.role.RoleCancelledException;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.scenarios.role.ScenarioException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The two sides of rstream(1), over rsockets or plain TCP.
 *
 * <p>Nothing is negotiated: both sides need the same suite and verification. Each series of the suite is one
 * connection. As in the C program, the verified counter continues from series to series. Unlike there, wrong data fails
 * the run in every suite.
 *
 * <p>The three ways to wait are those of the program, but with a limit. By default a call that would block is retried
 * for a while before the thread sleeps in rpoll (the program retries for ever). {@code blocking} sleeps at once. {@code
 * async} calls rpoll before every call. The sockets themselves never block, because only the peer could wake a thread
 * in a blocking rrecv.
 */
public final class StreamRoles {

    private static final Duration SLICE = Duration.ofMillis(200);

    /** The limit for a cancelled worker to end. */
    private static final Duration GRACE = Duration.ofSeconds(12);

    private static final int LARGEST_BACKLOG = 128;

    private static final Consumer<Throwable> IGNORE = failure -> {};

    private StreamRoles() {}

    /**
     * The results of one side.
     *
     * @param timings the timings of each row, in order, client by client
     * @param bytesReceived the received bytes, including syncs
     * @param bytesVerified how many of them were compared
     * @param connections the number of completed connections
     * @param failures the failures of clients of a server without a client limit, one sentence each
     */
    public record Result(
            List<Exchange.Timing> timings,
            long bytesReceived,
            long bytesVerified,
            int connections,
            List<String> failures) {

        /** Copies the lists. */
        public Result {
            timings = List.copyOf(timings);
            failures = List.copyOf(failures);
        }
    }

    /**
     * Listens, sends its port to the client, and answers each transfer with one of its own.
     *
     * @param options the options
     */
    public record Server(RstreamOptions options) implements Role<Result> {

        @Override
        public Result run(RoleContext context) {
            return run(context, IGNORE);
        }

        /**
         * Runs the server, and passes the exceptions of failed clients to a consumer.
         *
         * @param failed takes the failure of each client of a server without a client limit, before this method returns
         */
        public Result run(RoleContext context, Consumer<Throwable> failed) {
            boolean workers = options.fork() || options.clients() != 1;
            int backlog = workers ? LARGEST_BACKLOG : 1;
            try (StreamEndpoint.Listener listener =
                    StreamEndpoint.of(context, options).listen(backlog)) {
                context.tell(Integer.toString(listener.port()));
                return workers ? new Workers(context, options, failed, listener).serve() : serveOne(context, listener);
            }
        }

        private Result serveOne(RoleContext context, StreamEndpoint.Listener listener) {
            List<List<StreamRow>> series = options.series();
            Exchange exchange =
                    new Exchange(context, settings(options, options.fault()), "server", 0, transfers(series));
            for (int i = 0; i < series.size(); i++) {
                try (StreamLink link = accept(context, listener, series.get(i), i == 0)) {
                    exchange.serve(link, series.get(i));
                }
            }
            return result(exchange, series.size());
        }

        private StreamLink accept(
                RoleContext context, StreamEndpoint.Listener listener, List<StreamRow> rows, boolean first) {
            Duration limit = first ? options.firstWait() : options.timeout();
            long deadline = Deadline.end(limit);
            while (true) {
                context.checkCancelled();
                StreamLink link = listener.accept(SLICE, rows);
                if (link != null) {
                    return link;
                }
                if (Deadline.isOver(deadline)) {
                    throw first
                            ? noClient(limit)
                            : new ScenarioException(
                                    Cause.PEER_LOST,
                                    "The client did not connect again within %d ms for the bandwidth series: check that it still runs, with the same options"
                                            .formatted(limit.toMillis()));
                }
            }
        }
    }

    private static ScenarioException noClient(Duration limit) {
        return new ScenarioException(
                Cause.PEER_ABSENT,
                "No rstream client connected within %d ms: start one, or allow more time".formatted(limit.toMillis()));
    }

    /**
     * Connects, sends each transfer first, and measures. Without a port option it gets the port from the server.
     *
     * @param options the options
     */
    public record Client(RstreamOptions options) implements Role<Result> {

        @Override
        public Result run(RoleContext context) {
            int port = options.port() != 0
                    ? options.port()
                    : Integer.parseInt(context.hear("port of the rstream server", options.firstWait()));
            StreamEndpoint endpoint = StreamEndpoint.of(context, options);
            List<List<StreamRow>> series = options.series();
            Exchange exchange =
                    new Exchange(context, settings(options, options.fault()), "client", 0, transfers(series));
            for (List<StreamRow> rows : series) {
                context.checkCancelled();
                try (StreamLink link = endpoint.connect(port, rows)) {
                    exchange.drive(link, rows);
                }
            }
            return result(exchange, series.size());
        }
    }

    /** Returns the number of transfers of one direction. */
    private static long transfers(List<List<StreamRow>> series) {
        return series.stream()
                .flatMap(List::stream)
                .mapToLong(row -> (long) row.iterations() * row.transfers())
                .sum();
    }

    private static Exchange.Settings settings(RstreamOptions options, Fault fault) {
        return new Exchange.Settings(
                options.async(), options.blocking(), false, false, options.verify(), fault, options.timeout());
    }

    private static Result result(Exchange exchange, int connections) {
        return new Result(
                exchange.timings(), exchange.bytesReceived(), exchange.bytesVerified(), connections, List.of());
    }

    /** Serves each connection on its own thread, so that clients do not affect each other. */
    private static final class Workers {

        private final RoleContext context;
        private final RstreamOptions options;
        private final Consumer<Throwable> failed;
        private final StreamEndpoint.Listener listener;
        private final List<List<StreamRow>> series;
        private final List<Worker> workers = new ArrayList<>();
        private final List<Exchange.Timing> timings = new ArrayList<>();
        private final List<Throwable> failures = new ArrayList<>();
        private long bytesReceived;
        private long bytesVerified;
        private int served;

        Workers(
                RoleContext context,
                RstreamOptions options,
                Consumer<Throwable> failed,
                StreamEndpoint.Listener listener) {
            this.context = context;
            this.options = options;
            this.failed = failed;
            this.listener = listener;
            this.series = options.series();
        }

        /** One connection and its thread. */
        private static final class Worker {
            private final Thread thread;
            private volatile @Nullable Result result;
            private volatile @Nullable Throwable failure;

            Worker(String name, java.util.function.Supplier<Result> work) {
                this.thread = Thread.ofPlatform().name(name).daemon(true).unstarted(() -> {
                    try {
                        result = work.get();
                    } catch (Throwable e) {
                        failure = e;
                    }
                });
            }

            boolean isOver() {
                return thread.getState() == Thread.State.TERMINATED;
            }
        }

        Result serve() {
            Throwable ended = null;
            try {
                acceptAll();
            } catch (RuntimeException | Error e) {
                ended = e;
            }
            joinAll();
            if (ended != null) {
                throw because(ended);
            }
            boolean endless = options.clients() == 0;
            List<String> sentences = new ArrayList<>();
            for (Throwable failure : failures) {
                if (!endless) {
                    throw combined();
                }
                if (failure instanceof RoleCancelledException) {
                    // Cancelling is the normal end of this server, not a failure of the current client.
                    continue;
                }
                failed.accept(failure);
                sentences.add(String.valueOf(failure.getMessage()));
            }
            return new Result(timings, bytesReceived, bytesVerified, served, sentences);
        }

        private void acceptAll() {
            long expected = options.clients() == 0 ? Long.MAX_VALUE : (long) options.clients() * series.size();
            long deadline = Deadline.end(options.firstWait());
            for (int accepted = 0; accepted < expected; ) {
                if (context.isCancelled() && options.clients() == 0) {
                    return;
                }
                context.checkCancelled();
                if (options.clients() != 0 && hasFailed()) {
                    // This failure may be the reason that no further connection arrives.
                    return;
                }
                StreamLink link = listener.accept(SLICE, series.getFirst());
                if (link == null) {
                    if (accepted == 0 && Deadline.isOver(deadline)) {
                        throw noClient(options.firstWait());
                    }
                    if (accepted > 0 && options.clients() != 0 && running() == 0 && Deadline.isOver(deadline)) {
                        throw new ScenarioException(
                                Cause.PEER_ABSENT,
                                "%d of %d connections arrived, and no further one within %d ms: start the other clients"
                                        .formatted(
                                                accepted,
                                                expected,
                                                options.timeout().toMillis()));
                    }
                    if (running() > 0) {
                        deadline = Deadline.end(options.timeout());
                    }
                    reap();
                    continue;
                }
                int number = accepted++;
                Worker worker = new Worker("rstream-worker-" + number, () -> work(link, number));
                workers.add(worker);
                worker.thread.start();
                deadline = Deadline.end(options.timeout());
            }
        }

        private Result work(StreamLink link, int number) {
            try (link) {
                // A single client connects for one series after the other; several clients' series differ by their
                // data.
                int index = series.size() == 1 ? 0 : options.clients() == 1 ? number : -1;
                long start = index <= 0 ? 0 : Exchange.bytes(series.getFirst());
                List<StreamRow> rows = series.get(Math.max(index, 0));
                Exchange exchange = new Exchange(
                        context,
                        settings(options, number == 0 ? options.fault() : Fault.NONE),
                        "server",
                        start,
                        transfers(List.of(rows)));
                if (index < 0) {
                    exchange.serveAnyOf(link, series);
                } else {
                    exchange.serve(link, rows);
                }
                return StreamRoles.result(exchange, 1);
            }
        }

        private long running() {
            return workers.stream().filter(worker -> !worker.isOver()).count();
        }

        private boolean hasFailed() {
            return !failures.isEmpty() || workers.stream().anyMatch(worker -> worker.failure != null);
        }

        /** Collects the results of ended workers in the order of their connections, and removes the workers. */
        private void reap() {
            while (!workers.isEmpty() && workers.getFirst().isOver()) {
                Worker worker = workers.removeFirst();
                Result result = worker.result;
                Throwable failure = worker.failure;
                if (result != null) {
                    timings.addAll(result.timings());
                    bytesReceived += result.bytesReceived();
                    bytesVerified += result.bytesVerified();
                    served++;
                } else if (failure != null) {
                    failures.add(failure);
                }
            }
        }

        /** Joins all workers. Their waits have deadlines; after a cancellation this join has one, too. */
        private void joinAll() {
            long deadline = Long.MAX_VALUE;
            boolean interrupted = false;
            while (!workers.isEmpty()) {
                if (context.isCancelled() && deadline == Long.MAX_VALUE) {
                    deadline = Deadline.end(GRACE);
                }
                try {
                    TimeUnit.MILLISECONDS.timedJoin(workers.getFirst().thread, SLICE.toMillis());
                } catch (InterruptedException e) {
                    interrupted = true;
                    if (deadline == Long.MAX_VALUE) {
                        deadline = Deadline.end(GRACE);
                    }
                }
                reap();
                if (!workers.isEmpty() && deadline != Long.MAX_VALUE && Deadline.isOver(deadline)) {
                    failures.add(new IllegalStateException(
                            workers.getFirst().thread.getName() + " did not end within " + GRACE.toSeconds() + " s"));
                    break;
                }
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }

        /** Returns the failure to report: an earlier failed connection explains more than a missing one. */
        private RuntimeException because(Throwable ended) {
            if (options.clients() != 0
                    && failures.stream().anyMatch(each -> !(each instanceof RoleCancelledException))) {
                failures.removeIf(RoleCancelledException.class::isInstance);
                failures.add(ended);
                return combined();
            }
            failures.forEach(ended::addSuppressed);
            if (ended instanceof Error error) {
                throw error;
            }
            return (RuntimeException) ended;
        }

        private RuntimeException combined() {
            Throwable first = failures.stream()
                    .filter(failure -> failure instanceof AssertionError)
                    .findFirst()
                    .orElseGet(failures::getFirst);
            failures.stream().filter(failure -> failure != first).forEach(first::addSuppressed);
            if (first instanceof Error error) {
                throw error;
            }
            return (RuntimeException) first;
        }
    }
}
