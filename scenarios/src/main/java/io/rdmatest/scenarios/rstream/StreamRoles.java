package io.rdmatest.scenarios.rstream;

import io.rdmatest.scenarios.engine.CounterPattern;
import io.rdmatest.scenarios.engine.Fault;
import io.rdmatest.scenarios.engine.Role;
import io.rdmatest.scenarios.engine.RoleCancelledException;
import io.rdmatest.scenarios.engine.RoleContext;
import io.rdmatest.scenarios.engine.ScenarioException;
import io.rdmatest.scenarios.engine.ScenarioException.Reason;
import io.rdmatest.scenarios.engine.Waits;
import io.rdmatest.scenarios.rstream.StreamLink.Block;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;
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

    private static final int SYNC = 16;

    /** The time of retries before the thread sleeps: waking up takes longer than most transfers. */
    private static final long SPIN_NANOS = Duration.ofMillis(10).toNanos();

    private static final Duration SLICE = Duration.ofMillis(200);

    /** The limit for a cancelled worker to end. */
    private static final Duration GRACE = Duration.ofSeconds(12);

    private static final int LARGEST_BACKLOG = 128;

    private static final Consumer<Throwable> IGNORE = failure -> {};

    private StreamRoles() {}

    /**
     * The measurements of a row.
     *
     * @param row the row
     * @param nanos the duration of its timed loop in nanoseconds
     * @param latency the time of one transfer in nanoseconds, for each iteration (its time divided by its transfers in
     *     both directions); null with one iteration
     */
    public record Timing(
            StreamRow row, long nanos, @Nullable Histogram latency) {}

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
            List<Timing> timings, long bytesReceived, long bytesVerified, int connections, List<String> failures) {

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

        /** Checks that the options agree with each other. */
        public Server {
            options.requireConsistent();
        }

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
            Exchange exchange = new Exchange(context, options, "server", 0, transfers(series));
            for (int i = 0; i < series.size(); i++) {
                try (StreamLink link = accept(context, listener, series.get(i), i == 0)) {
                    exchange.serve(link, series.get(i));
                }
            }
            return exchange.result(series.size());
        }

        private StreamLink accept(
                RoleContext context, StreamEndpoint.Listener listener, List<StreamRow> rows, boolean first) {
            Duration limit = first ? options.firstWait() : options.timeout();
            long deadline = Waits.deadline(limit);
            while (true) {
                context.checkCancelled();
                StreamLink link = listener.accept(SLICE, rows);
                if (link != null) {
                    return link;
                }
                if (Waits.remaining(deadline).isZero()) {
                    throw first
                            ? noClient(limit)
                            : new ScenarioException(
                                    Reason.PEER_LOST,
                                    "The client did not connect again within %d ms for the bandwidth series: check that it still runs, with the same options"
                                            .formatted(limit.toMillis()));
                }
            }
        }
    }

    private static ScenarioException noClient(Duration limit) {
        return new ScenarioException(
                Reason.PEER_ABSENT,
                "No rstream client connected within %d ms: start one, or allow more time".formatted(limit.toMillis()));
    }

    /**
     * Connects, sends each transfer first, and measures. Without a port option it gets the port from the server.
     *
     * @param options the options
     */
    public record Client(RstreamOptions options) implements Role<Result> {

        /** Checks that the options agree with each other. */
        public Client {
            options.requireConsistent();
        }

        @Override
        public Result run(RoleContext context) {
            int port = options.port() != 0
                    ? options.port()
                    : Integer.parseInt(context.hear("port of the rstream server", options.firstWait()));
            StreamEndpoint endpoint = StreamEndpoint.of(context, options);
            List<List<StreamRow>> series = options.series();
            Exchange exchange = new Exchange(context, options, "client", 0, transfers(series));
            for (List<StreamRow> rows : series) {
                context.checkCancelled();
                try (StreamLink link = endpoint.connect(port, rows)) {
                    exchange.drive(link, rows);
                }
            }
            return exchange.result(series.size());
        }
    }

    /** Returns the number of transfers of one direction. */
    private static long transfers(List<List<StreamRow>> series) {
        return series.stream()
                .flatMap(List::stream)
                .mapToLong(row -> (long) row.iterations() * row.transfers())
                .sum();
    }

    /** Returns the bytes of one direction, including syncs. */
    private static long bytes(List<StreamRow> rows) {
        return rows.stream().mapToLong(row -> SYNC + row.totalBytes() / 2).sum();
    }

    /** Serves each connection on its own thread, so that clients do not affect each other. */
    private static final class Workers {

        private final RoleContext context;
        private final RstreamOptions options;
        private final Consumer<Throwable> failed;
        private final StreamEndpoint.Listener listener;
        private final List<List<StreamRow>> series;
        private final List<Worker> workers = new ArrayList<>();
        private final List<Timing> timings = new ArrayList<>();
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
            long deadline = Waits.deadline(options.firstWait());
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
                    if (accepted == 0 && Waits.remaining(deadline).isZero()) {
                        throw noClient(options.firstWait());
                    }
                    if (accepted > 0
                            && options.clients() != 0
                            && running() == 0
                            && Waits.remaining(deadline).isZero()) {
                        throw new ScenarioException(
                                Reason.PEER_ABSENT,
                                "%d of %d connections arrived, and no further one within %d ms: start the other clients"
                                        .formatted(
                                                accepted,
                                                expected,
                                                options.timeout().toMillis()));
                    }
                    if (running() > 0) {
                        deadline = Waits.deadline(options.timeout());
                    }
                    reap();
                    continue;
                }
                int number = accepted++;
                Worker worker = new Worker("rstream-worker-" + number, () -> work(link, number));
                workers.add(worker);
                worker.thread.start();
                deadline = Waits.deadline(options.timeout());
            }
        }

        private Result work(StreamLink link, int number) {
            try (link) {
                // A single client connects for one series after the other; several clients' series differ by their
                // data.
                int index = series.size() == 1 ? 0 : options.clients() == 1 ? number : -1;
                long start = index <= 0 ? 0 : bytes(series.getFirst());
                List<StreamRow> rows = series.get(Math.max(index, 0));
                Exchange exchange = new Exchange(
                        context,
                        number == 0 ? options : options.withFault(Fault.NONE),
                        "server",
                        start,
                        transfers(List.of(rows)));
                if (index < 0) {
                    exchange.serveAnyOf(link, series);
                } else {
                    exchange.serve(link, rows);
                }
                return exchange.result(1);
            }
        }

        private long running() {
            return workers.stream().filter(worker -> worker.thread.isAlive()).count();
        }

        private boolean hasFailed() {
            return !failures.isEmpty() || workers.stream().anyMatch(worker -> worker.failure != null);
        }

        /** Collects the results of ended workers in the order of their connections, and removes the workers. */
        private void reap() {
            while (!workers.isEmpty() && !workers.getFirst().thread.isAlive()) {
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
                    deadline = Waits.deadline(GRACE);
                }
                try {
                    TimeUnit.MILLISECONDS.timedJoin(workers.getFirst().thread, SLICE.toMillis());
                } catch (InterruptedException e) {
                    interrupted = true;
                    if (deadline == Long.MAX_VALUE) {
                        deadline = Waits.deadline(GRACE);
                    }
                }
                reap();
                if (!workers.isEmpty()
                        && deadline != Long.MAX_VALUE
                        && Waits.remaining(deadline).isZero()) {
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

    /** The exchange of one side, over one connection or several consecutive ones. For one thread. */
    private static final class Exchange {

        private final RoleContext context;
        private final RstreamOptions options;
        private final String side;
        private CounterPattern sent;
        private CounterPattern received;
        private final List<Timing> timings = new ArrayList<>();
        private final long units;
        private long unit;
        private final Yields yields = new Yields();
        private long bytesReceived;
        private long bytesVerified;

        Exchange(RoleContext context, RstreamOptions options, String side, long position, long units) {
            this.context = context;
            this.options = options;
            this.side = side;
            this.sent = new CounterPattern(position);
            this.received = new CounterPattern(position);
            this.units = units;
        }

        void drive(StreamLink link, List<StreamRow> rows) {
            for (StreamRow row : rows) {
                try (Arena arena = Arena.ofConfined()) {
                    Block sync = Block.of(arena.allocate(SYNC));
                    Block transfer = Block.of(arena.allocate(row.size()));
                    send(link, sync, row);
                    receive(link, sync, row);
                    run(link, transfer, row, true);
                }
            }
            end(link);
        }

        void serve(StreamLink link, List<StreamRow> rows) {
            for (StreamRow row : rows) {
                serve(link, row, false);
            }
            end(link);
        }

        /** Serves the series that the first bytes identify: each begins at another counter value. */
        void serveAnyOf(StreamLink link, List<List<StreamRow>> series) {
            List<StreamRow> rows = series.getFirst();
            try (Arena arena = Arena.ofConfined()) {
                Block sync = Block.of(arena.allocate(SYNC));
                move(link, sync, false, rows.getFirst());
                long position = bytes(rows);
                if (sync.bytes().get(0) == (byte) position && (byte) position != 0) {
                    rows = series.get(1);
                    sent = new CounterPattern(position);
                    received = new CounterPattern(position);
                }
                verify(sync);
            }
            for (int i = 0; i < rows.size(); i++) {
                serve(link, rows.get(i), i == 0);
            }
            end(link);
        }

        private void serve(StreamLink link, StreamRow row, boolean synced) {
            try (Arena arena = Arena.ofConfined()) {
                Block sync = Block.of(arena.allocate(SYNC));
                Block transfer = Block.of(arena.allocate(row.size()));
                if (!synced) {
                    receive(link, sync, row);
                }
                send(link, sync, row);
                run(link, transfer, row, false);
            }
        }

        private void run(StreamLink link, Block transfer, StreamRow row, boolean sendsFirst) {
            int transfers = row.transfers();
            int iterations = row.iterations();
            Histogram latency = iterations == 1 ? null : new Histogram(TimeUnit.HOURS.toNanos(1), 3);
            long start = System.nanoTime();
            long last = start;
            for (int i = 0; i < iterations; i++) {
                for (int half = 0; half < 2; half++) {
                    boolean sends = sendsFirst == (half == 0);
                    for (int t = 0; t < transfers; t++) {
                        if (sends) {
                            sendUnit(link, transfer, row);
                        } else {
                            receive(link, transfer, row);
                        }
                    }
                }
                long now = System.nanoTime();
                if (latency != null) {
                    latency.recordValue(Math.min((now - last) / (2L * transfers), latency.getHighestTrackableValue()));
                }
                last = now;
            }
            timings.add(new Timing(row, last - start, latency));
        }

        private void sendUnit(StreamLink link, Block block, StreamRow row) {
            if (options.verify()) {
                sent.fill(block.segment());
            }
            options.fault().apply(unit++, units, block.segment());
            move(link, block, true, row);
        }

        private void send(StreamLink link, Block block, StreamRow row) {
            if (options.verify()) {
                sent.fill(block.segment());
            }
            move(link, block, true, row);
        }

        private void receive(StreamLink link, Block block, StreamRow row) {
            move(link, block, false, row);
            verify(block);
        }

        private void verify(Block block) {
            if (options.verify()) {
                // Both sides must verify, or none: without verification a peer's data is arbitrary.
                received.verify(
                        block.segment(),
                        bytesReceived == SYNC
                                ? "stream at the " + side + " (from its first message on: does the peer verify, -T v?)"
                                : "stream at the " + side);
                bytesVerified += block.size();
            }
        }

        private void move(StreamLink link, Block block, boolean sending, StreamRow row) {
            context.checkCancelled();
            int size = block.size();
            int done = 0;
            int tries = 0;
            long stalledSince = 0;
            while (true) {
                boolean ready = !options.async() || link.poll(sending);
                int count = !ready ? 0 : sending ? link.send(block, done) : link.receive(block, done);
                if (count < 0) {
                    throw ended(link, row, done, size);
                }
                done += count;
                if (done == size) {
                    break;
                }
                if (count > 0) {
                    tries = 0;
                    stalledSince = 0;
                    continue;
                }
                boolean spins = !options.async() && !options.blocking();
                if (spins && ++tries < yields.tries()) {
                    // Without PAUSE: a call takes long enough, and each PAUSE costs an emulated processor an exit.
                    continue;
                }
                tries = 0;
                long now = System.nanoTime();
                if (stalledSince == 0) {
                    stalledSince = now;
                } else if (now - stalledSince >= options.timeout().toNanos()) {
                    throw stalled(link, sending, row, done, size);
                }
                context.checkCancelled();
                if (options.blocking() || spins && now - stalledSince >= SPIN_NANOS) {
                    boolean ignored = link.poll(sending);
                } else if (spins) {
                    // A software device may need the processor that spins.
                    yields.giveWay();
                }
            }
            if (!sending) {
                bytesReceived += size;
            }
        }

        private ScenarioException ended(StreamLink link, StreamRow row, int done, int size) {
            return new ScenarioException(
                    Reason.PEER_LOST,
                    "%s ended the connection in the row %s, after %d of %d bytes of a transfer: it failed, was killed, or has other options"
                            .formatted(link.peer(), row.name(), done, size));
        }

        private ScenarioException stalled(StreamLink link, boolean sending, StreamRow row, int done, int size) {
            return new ScenarioException(
                    Reason.PEER_LOST,
                    "%s %s for %d ms in the row %s, after %d of %d bytes of a transfer: it hangs, is disconnected, or has another -S, -C or -I"
                            .formatted(
                                    link.peer(),
                                    sending ? "received nothing" : "sent nothing",
                                    options.timeout().toMillis(),
                                    row.name(),
                                    done,
                                    size));
        }

        /** Ends this direction, and requires the end of the other: a peer with other options may have more to send. */
        private void end(StreamLink link) {
            long deadline = Waits.deadline(options.timeout());
            try (Arena arena = Arena.ofConfined()) {
                Block surplus = Block.of(arena.allocate(SYNC));
                link.endSending();
                while (true) {
                    context.checkCancelled();
                    int count = link.receive(surplus, 0);
                    if (count < 0) {
                        return;
                    }
                    if (count > 0) {
                        throw new AssertionError(
                                "%s sent more than the expected %d bytes: give both sides the same -S, -C and -I"
                                        .formatted(link.peer(), bytesReceived));
                    }
                    if (Waits.remaining(deadline).isZero()) {
                        throw new ScenarioException(
                                Reason.PEER_LOST,
                                "%s did not end the connection within %d ms after the last transfer: check whether it hangs, and give both sides the same -S, -C and -I"
                                        .formatted(
                                                link.peer(), options.timeout().toMillis()));
                    }
                    boolean ignored = link.poll(false);
                }
            } catch (ScenarioException e) {
                // A peer that has received everything may close first, and break the other direction.
                if (e.reason() != Reason.PEER_LOST || !(e.getCause() instanceof Exception)) {
                    throw e;
                }
            }
        }

        Result result(int connections) {
            return new Result(timings, bytesReceived, bytesVerified, connections, List.of());
        }
    }
}
