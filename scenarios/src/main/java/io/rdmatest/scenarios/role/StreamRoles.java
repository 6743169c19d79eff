package io.rdmatest.scenarios.role;

import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.rsocket.RSocket;
import io.rdmatest.rsocket.Shutdown;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The two sides of rstream(1) over rsockets.
 *
 * <p>Nothing is negotiated: both sides must be given the same series and the same choice of verification. Each series
 * is one connection; the counter that verifies the data runs on from series to series, as in the C program.
 */
public final class StreamRoles {

    private static final int SYNC = 16;

    /** What one transfer waits at most before it looks whether the scenario was given up. */
    private static final Duration SLICE = Duration.ofMillis(200);

    private StreamRoles() {}

    /**
     * What both sides must agree on.
     *
     * @param series the rows of each connection, in order
     * @param verify whether data carries the counter pattern and is compared byte by byte
     * @param bufferSize the socket's send and receive buffers in bytes, 0 for rstream's 512 KiB
     * @param inline the largest inline transfer of a latency series in bytes (rstream -i)
     * @param timeout how long to wait for any one step
     */
    public record Plan(List<List<StreamRow>> series, boolean verify, int bufferSize, int inline, Duration timeout) {

        /** Keeps the rows from changing. */
        public Plan {
            series = series.stream().map(List::copyOf).toList();
        }

        /** Returns one connection with one row. */
        public static Plan single(StreamRow row, boolean verify, Duration timeout) {
            return new Plan(List.of(List.of(row)), verify, 0, 64, timeout);
        }
    }

    /**
     * What was measured of a row.
     *
     * @param row the row
     * @param nanos the duration of its timed loop in nanoseconds
     */
    public record Timing(StreamRow row, long nanos) {}

    /**
     * The results of one side.
     *
     * @param timings one for each row, in order
     * @param bytesReceived the bytes that came in, syncs included
     * @param bytesVerified how many of them were compared
     */
    public record Result(List<Timing> timings, long bytesReceived, long bytesVerified) {}

    /**
     * Listens, and answers each transfer with one of its own.
     *
     * @param address the address to bind to; null for that of the device
     * @param port the port, 0 for a free one, which is then told to the other side
     * @param plan what to expect
     */
    public record Server(@Nullable InetAddress address, int port, Plan plan) implements Role<Result> {

        @Override
        public Result run(RoleContext context) {
            InetAddress local = address != null ? address : context.device().address();
            Exchange exchange = new Exchange(context, plan, "server");
            try (RSocket listener = RSocket.stream()) {
                int bufferSize = plan.bufferSize() == 0 ? 1 << 19 : plan.bufferSize();
                listener.reuseAddress(true).sendBufferSize(bufferSize).receiveBufferSize(bufferSize);
                listener.bind(new InetSocketAddress(local, port));
                listener.listen(1);
                context.tell(Integer.toString(listener.localAddress().getPort()));
                for (List<StreamRow> rows : plan.series()) {
                    try (RSocket socket = accept(context, listener, plan.timeout())) {
                        exchange.tune(socket, rows);
                        exchange.serve(socket, rows);
                    }
                }
            }
            return exchange.result();
        }

        private static RSocket accept(RoleContext context, RSocket listener, Duration timeout) {
            long deadline = Waits.deadline(timeout);
            while (true) {
                context.checkCancelled();
                Duration left = Waits.remaining(deadline);
                try {
                    return listener.accept(left.compareTo(SLICE) < 0 ? left : SLICE);
                } catch (RdmaTimeoutException e) {
                    if (Waits.remaining(deadline).isZero()) {
                        throw new RdmaTimeoutException("connection of an rstream client", timeout, "");
                    }
                }
            }
        }
    }

    /**
     * Connects, sends each transfer first, and measures.
     *
     * @param address the server's address; null for that of the device
     * @param port the server's port; 0 to be told by the other side
     * @param plan what to transfer
     */
    public record Client(@Nullable InetAddress address, int port, Plan plan) implements Role<Result> {

        @Override
        public Result run(RoleContext context) {
            InetAddress remote = address != null ? address : context.device().address();
            int remotePort =
                    port != 0 ? port : Integer.parseInt(context.hear("port of the rstream server", plan.timeout()));
            Exchange exchange = new Exchange(context, plan, "client");
            for (List<StreamRow> rows : plan.series()) {
                try (RSocket socket = RSocket.stream()) {
                    exchange.tune(socket, rows);
                    socket.connect(new InetSocketAddress(remote, remotePort), plan.timeout());
                    exchange.drive(socket, rows);
                }
            }
            return exchange.result();
        }
    }

    private static final class Exchange {

        private final RoleContext context;
        private final Plan plan;
        private final String side;
        private final CounterPattern sent = new CounterPattern();
        private final CounterPattern received = new CounterPattern();
        private final List<Timing> timings = new ArrayList<>();
        private long bytesReceived;

        private Exchange(RoleContext context, Plan plan, String side) {
            this.context = context;
            this.plan = plan;
            this.side = side;
        }

        private void tune(RSocket socket, List<StreamRow> rows) {
            int bufferSize = plan.bufferSize() == 0 ? 1 << 19 : plan.bufferSize();
            socket.sendBufferSize(bufferSize).receiveBufferSize(bufferSize).noDelay(true);
            // The inline size is fixed when the queue pair is created, so a connected socket keeps its listener's.
            if (side.equals("client")) {
                switch (rows.getFirst().kind()) {
                    case LATENCY -> socket.inline(plan.inline());
                    case BANDWIDTH -> socket.inline(0);
                    case CUSTOM -> {}
                }
            }
        }

        private void drive(RSocket socket, List<StreamRow> rows) {
            for (StreamRow row : rows) {
                try (Arena arena = Arena.ofConfined()) {
                    MemorySegment buffer = arena.allocate(Math.max(SYNC, row.size()));
                    MemorySegment sync = buffer.asSlice(0, SYNC);
                    MemorySegment transfer = buffer.asSlice(0, row.size());
                    send(socket, sync);
                    receive(socket, sync);
                    long start = System.nanoTime();
                    for (int i = 0; i < row.iterations(); i++) {
                        sendAll(socket, transfer, row.transfers());
                        receiveAll(socket, transfer, row.transfers());
                    }
                    timings.add(new Timing(row, System.nanoTime() - start));
                }
            }
            end(socket);
        }

        private void serve(RSocket socket, List<StreamRow> rows) {
            for (StreamRow row : rows) {
                try (Arena arena = Arena.ofConfined()) {
                    MemorySegment buffer = arena.allocate(Math.max(SYNC, row.size()));
                    MemorySegment sync = buffer.asSlice(0, SYNC);
                    MemorySegment transfer = buffer.asSlice(0, row.size());
                    receive(socket, sync);
                    send(socket, sync);
                    long start = System.nanoTime();
                    for (int i = 0; i < row.iterations(); i++) {
                        receiveAll(socket, transfer, row.transfers());
                        sendAll(socket, transfer, row.transfers());
                    }
                    timings.add(new Timing(row, System.nanoTime() - start));
                }
            }
            end(socket);
        }

        private void sendAll(RSocket socket, MemorySegment transfer, int count) {
            for (int i = 0; i < count; i++) {
                send(socket, transfer);
            }
        }

        private void receiveAll(RSocket socket, MemorySegment transfer, int count) {
            for (int i = 0; i < count; i++) {
                receive(socket, transfer);
            }
        }

        private void send(RSocket socket, MemorySegment data) {
            context.checkCancelled();
            if (plan.verify()) {
                sent.fill(data);
            }
            socket.sendFully(data, plan.timeout());
        }

        private void receive(RSocket socket, MemorySegment data) {
            context.checkCancelled();
            socket.receiveFully(data, plan.timeout());
            bytesReceived += data.byteSize();
            if (plan.verify()) {
                received.verify(data, "stream at the " + side);
            }
        }

        private void end(RSocket socket) {
            socket.shutdown(Shutdown.BOTH);
        }

        private Result result() {
            return new Result(List.copyOf(timings), bytesReceived, received.position());
        }
    }
}
