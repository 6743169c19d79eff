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
 * <p>Nothing is negotiated: both sides must be given the same suite and the same choice of verification. Each series of
 * the suite is one connection; the counter that verifies the data runs on from series to series, as in the C program.
 * Other than there, wrong data fails the run in every suite.
 *
 * <p>The three ways to wait are those of the program, but each wait ends: without an option a call that would block is tried
 * again for a while before the thread sleeps in rpoll (the program tries for ever); {@code blocking} sleeps at once;
 * {@code async} asks rpoll before every call. The sockets themselves never block, because a thread in a blocking rrecv could
 * be woken by nothing but the peer.
 */
public final class StreamRoles {

    private static final int SYNC = 16;

    /** How long it is tried before the thread sleeps: the program never does, and waking takes longer than most transfers. */
    private static final long SPIN_NANOS = Duration.ofMillis(10).toNanos();

    private static final Duration SLICE = Duration.ofMillis(200);

    /** How long a worker may take to notice that it is to end. */
    private static final Duration GRACE = Duration.ofSeconds(12);

    private static final int LARGEST_BACKLOG = 128;

    private static final Consumer<Throwable> NOBODY = failure -> {};

    private StreamRoles() {}

    /**
     * What was measured of a row.
     *
     * @param row the row
     * @param nanos the duration of its timed loop in nanoseconds
     * @param latency the time of one transfer in nanoseconds, a value for each iteration (its time divided by its transfers
     *     in both directions); null if there was only one iteration
     */
    public record Timing(
            StreamRow row, long nanos, @Nullable Histogram latency) {}

    /**
     * The results of one side.
     *
     * @param timings one for each row, in order; of several clients, one client's after the other's
     * @param bytesReceived the bytes that came in, syncs included
     * @param bytesVerified how many of them were compared
     * @param connections the connections that were served to their end
     * @param failures what went wrong with clients of a server that serves any number of them, one sentence each
     */
    public record Result(
            List<Timing> timings, long bytesReceived, long bytesVerified, int connections, List<String> failures) {

        /** Keeps the lists from changing. */
        public Result {
            timings = List.copyOf(timings);
            failures = List.copyOf(failures);
        }
    }

    /**
     * Listens, and answers each transfer with one of its own. Tells the other side the port.
     *
     * @param options what to expect
     */
    public record Server(RstreamOptions options) implements Role<Result> {

        /** Checks that the options agree with each other. */
        public Server {
            options.requireConsistent();
        }

        @Override
        public Result run(RoleContext context) {
            return run(context, NOBODY);
        }

        /**
         * Does the same for a caller that needs more of a failure than the sentence in the results.
         *
         * @param failed takes what went wrong with each client of a server that serves any number of them, before this returns
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
                            ? nobodyCame(limit)
                            : new ScenarioException(
                                    Reason.PEER_LOST,
                                    "The client did not connect again within %d ms for the bandwidth series: look whether it still runs, and with the same options"
                                            .formatted(limit.toMillis()));
                }
            }
        }
    }

    private static ScenarioException nobodyCame(Duration limit) {
        return new ScenarioException(
                Reason.PEER_ABSENT,
                "No rstream client connected within %d ms: start one, or allow more time".formatted(limit.toMillis()));
    }

    /**
     * Connects, sends each transfer first, and measures. Asks the other side for the port if the options have none.
     *
     * @param options what to transfer
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

    /** The transfers of one direction. */
    private static long transfers(List<List<StreamRow>> series) {
        return series.stream()
                .flatMap(List::stream)
                .mapToLong(row -> (long) row.iterations() * row.transfers())
                .sum();
    }

    /** The bytes of one direction, syncs included. */
    private static long bytes(List<StreamRow> rows) {
        return rows.stream().mapToLong(row -> SYNC + row.totalBytes() / 2).sum();
    }

    /** Serves each connection with a thread of its own, so that a client neither waits for another nor fails with it. */
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
                    // The end of the server is how it ends, and no failure of the client that was just there.
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
                    // No further connection may come because of it.
                    return;
                }
                StreamLink link = listener.accept(SLICE, series.getFirst());
                if (link == null) {
                    if (accepted == 0 && Waits.remaining(deadline).isZero()) {
                        throw nobodyCame(options.firstWait());
                    }
                    if (accepted > 0
                            && options.clients() != 0
                            && running() == 0
                            && Waits.remaining(deadline).isZero()) {
                        throw new ScenarioException(
                                Reason.PEER_ABSENT,
                                "%d of %d connections came, and no further one within %d ms: start the other clients"
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
                // A single client's connections come one after the
                // other; several clients' differ by their data.
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

        /** Keeps the results of the workers that ended, in the order of their connections, and forgets the workers. */
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

        /** Each wait of a worker has a deadline, and ends early when the scenario is given up: only then has this one. */
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

        /** Returns why no more connections were accepted: a connection that failed before says more than one that did not come. */
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

    /** What one side sends and receives, over one connection or several that follow each other. Of one thread. */
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

        /** Serves the series whose first bytes come in: the counter stands elsewhere at the beginning of each. */
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
                // Both sides verify, or none: a peer that does not sends anything.
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
                    // Without PAUSE: a call takes long enough, and an emulated processor leaves its guest for each.
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
                    // Where the device is software, the processor that spins may be the one it needs.
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
                    "%s ended the connection in the row %s, %d bytes into a transfer of %d: it failed, was killed, or runs with other options"
                            .formatted(link.peer(), row.name(), done, size));
        }

        private ScenarioException stalled(StreamLink link, boolean sending, StreamRow row, int done, int size) {
            return new ScenarioException(
                    Reason.PEER_LOST,
                    "%s %s for %d ms in the row %s, %d bytes into a transfer of %d: it hangs, is cut off, or runs with another -S, -C or -I"
                            .formatted(
                                    link.peer(),
                                    sending ? "took nothing" : "sent nothing",
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
                                "%s sent more than the %d bytes that the options say: give both sides the same -S, -C and -I"
                                        .formatted(link.peer(), bytesReceived));
                    }
                    if (Waits.remaining(deadline).isZero()) {
                        throw new ScenarioException(
                                Reason.PEER_LOST,
                                "%s did not end the connection within %d ms after the last transfer: look whether it hangs, and give both sides the same -S, -C and -I"
                                        .formatted(
                                                link.peer(), options.timeout().toMillis()));
                    }
                    boolean ignored = link.poll(false);
                }
            } catch (ScenarioException e) {
                // Who has everything may close at once, and break the half that is still open.
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
