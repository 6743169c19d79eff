package io.rdmatest.scenarios.stream;

import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.scenarios.engine.CounterPattern;
import io.rdmatest.scenarios.engine.DeviceBinding;
import io.rdmatest.scenarios.engine.Role;
import io.rdmatest.scenarios.engine.RoleContext;
import io.rdmatest.scenarios.engine.ScenarioException;
import io.rdmatest.scenarios.engine.ScenarioException.Reason;
import io.rdmatest.scenarios.engine.Waits;
import io.rdmatest.stream.StreamEndpoint;
import io.rdmatest.stream.StreamEvent;
import io.rdmatest.stream.StreamEventQueue;
import io.rdmatest.stream.StreamException;
import io.rdmatest.stream.StreamListener;
import io.rdmatest.stream.StreamRequest;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The two sides of a stream over RDMA WRITE with credits: the exchange of rstream(1), or both directions at once.
 *
 * <p>Only rings, credits and the protocol version are negotiated. At the end the client shuts the stream down. The
 * server requires the end of the stream after exactly the expected bytes.
 */
public final class RmaStreamRoles {

    /** The slice of a wait: then it checks whether the scenario was cancelled. */
    private static final Duration SLICE = Duration.ofMillis(200);

    /** The number of attempts without progress before a side sleeps: waking up costs more than most answers take. */
    private static final int SPINS = 10_000;

    private RmaStreamRoles() {}

    /**
     * The results of one side.
     *
     * @param nanos the duration of the transfers in nanoseconds, without connecting and ending
     * @param bytesSent the sent bytes
     * @param bytesReceived the received bytes
     * @param bytesVerified how many of them were compared
     */
    public record Result(long nanos, long bytesSent, long bytesReceived, long bytesVerified) {

        /** Returns the throughput of both directions together, in gigabits (10^9 bits) per second. */
        public double gigabitsPerSecond() {
            return 8.0 * (bytesSent + bytesReceived) / nanos;
        }
    }

    /**
     * Listens, and answers each iteration with one of its own.
     *
     * @param options the options
     */
    public record Server(RmaStreamOptions options) implements Role<Result> {

        @Override
        public Result run(RoleContext context) {
            return explained(() -> serve(context));
        }

        private Result serve(RoleContext context) {
            InetAddress local = options.address() != null
                    ? options.address()
                    : context.device().address();
            try (TransferBuffers buffers = TransferBuffers.allocate(options.sizeBytes());
                    StreamEventQueue events = StreamEventQueue.create();
                    StreamListener listener = StreamListener.listen(
                            events, new InetSocketAddress(local, options.port()), 1, options.stream())) {
                context.tell(Integer.toString(listener.localAddress().getPort()));
                try (StreamEndpoint endpoint = awaitRequest(context, events).accept()) {
                    endpoint.awaitConnected(options.timeout());
                    DeviceBinding.require(context, endpoint.queuePair());
                    context.trace(() -> "connected with " + endpoint.remoteAddress());
                    Exchange exchange = new Exchange(context, options, endpoint, buffers, "server");
                    exchange.run(false);
                    exchange.awaitEnd();
                    return exchange.result();
                }
            }
        }

        private StreamRequest awaitRequest(RoleContext context, StreamEventQueue events) {
            Duration limit = options.acceptTimeout();
            long deadline = limit == null ? 0 : Waits.deadline(limit);
            while (true) {
                context.checkCancelled();
                try {
                    StreamEvent event = events.await(
                            limit == null || Waits.remaining(deadline).compareTo(SLICE) > 0
                                    ? SLICE
                                    : Waits.remaining(deadline));
                    StreamRequest request = event.request();
                    if (request != null) {
                        return request;
                    }
                    RuntimeException failure = event.failure();
                    if (failure instanceof StreamException stranger && event.listener() != null) {
                        // The listener has rejected it. Wait for another client.
                        context.trace(() -> "rejected a client: " + stranger.getMessage());
                    } else if (failure != null) {
                        throw failure;
                    }
                } catch (RdmaTimeoutException e) {
                    if (limit != null && Waits.remaining(deadline).isZero()) {
                        throw new ScenarioException(
                                Reason.PEER_ABSENT,
                                "No client of the stream connected within %d ms: start one, or allow more time"
                                        .formatted(limit.toMillis()),
                                e);
                    }
                }
            }
        }
    }

    /**
     * Connects, sends first, and ends the stream.
     *
     * @param options the options
     */
    public record Client(RmaStreamOptions options) implements Role<Result> {

        @Override
        public Result run(RoleContext context) {
            return explained(() -> drive(context));
        }

        private Result drive(RoleContext context) {
            InetAddress remote = options.address() != null ? options.address() : context.peerAddress();
            int port = options.port() != 0
                    ? options.port()
                    : Integer.parseInt(context.hear("port of the stream's server", options.timeout()));
            InetSocketAddress target = new InetSocketAddress(remote, port);
            try (TransferBuffers buffers = TransferBuffers.allocate(options.sizeBytes());
                    StreamEventQueue events = StreamEventQueue.create();
                    StreamEndpoint endpoint = StreamEndpoint.connect(
                            events,
                            DeviceBinding.source(context, remote, null),
                            target,
                            options.stream(),
                            options.timeout())) {
                awaitConnected(endpoint, target);
                DeviceBinding.require(context, endpoint.queuePair());
                context.trace(() -> "connected with " + endpoint.remoteAddress());
                Exchange exchange = new Exchange(context, options, endpoint, buffers, "client");
                exchange.run(true);
                endpoint.shutdown(options.timeout());
                return exchange.result();
            }
        }

        private void awaitConnected(StreamEndpoint endpoint, InetSocketAddress target) {
            try {
                endpoint.awaitConnected(options.timeout());
            } catch (RdmaTimeoutException e) {
                throw new ScenarioException(
                        Reason.PEER_ABSENT,
                        "%s port %d did not answer within %d ms: start the stream's server there, or allow more time"
                                .formatted(
                                        target.getAddress().getHostAddress(),
                                        target.getPort(),
                                        options.timeout().toMillis()),
                        e);
            }
        }
    }

    /** Converts the stream's exceptions to those of scenarios. */
    private static Result explained(Supplier<Result> run) {
        try {
            return run.get();
        } catch (StreamException e) {
            Reason reason = switch (e.reason()) {
                case UNSUPPORTED -> Reason.UNSUPPORTED;
                case PEER_SHUT_DOWN, CONNECTION_LOST -> Reason.PEER_LOST;
                case VERSION_MISMATCH, BAD_CONNECTION_DATA, REFUSED, PROTOCOL_VIOLATION -> Reason.REJECTED;
            };
            throw new ScenarioException(reason, String.valueOf(e.getMessage()), e);
        }
    }

    private static final class Exchange {

        private final RoleContext context;
        private final RmaStreamOptions options;
        private final StreamEndpoint endpoint;
        private final String side;
        private final CounterPattern sentPattern = new CounterPattern();
        private final CounterPattern receivedPattern = new CounterPattern();
        private final ByteBuffer out;
        private final ByteBuffer in;
        private final MemorySegment outBytes;
        private final MemorySegment inBytes;
        private final long units;
        private long unitsSent;
        private long bytesReceived;
        private long nanos;

        private Exchange(
                RoleContext context,
                RmaStreamOptions options,
                StreamEndpoint endpoint,
                TransferBuffers buffers,
                String side) {
            this.context = context;
            this.options = options;
            this.endpoint = endpoint;
            this.side = side;
            this.outBytes = buffers.out();
            this.inBytes = buffers.in();
            this.out = outBytes.asByteBuffer();
            this.in = inBytes.asByteBuffer();
            this.units = (long) options.transfers() * options.iterations();
        }

        private void run(boolean first) {
            long start = System.nanoTime();
            int count = options.transfers();
            for (int i = 0; i < options.iterations(); i++) {
                if (options.bothAtOnce()) {
                    move(count, count);
                } else {
                    move(first ? count : 0, first ? 0 : count);
                    move(first ? 0 : count, first ? count : 0);
                }
            }
            nanos = System.nanoTime() - start;
        }

        /** Sends and receives a number of transfers, in the order in which it is possible. */
        private void move(int toSend, int toReceive) {
            int sent = 0;
            int received = 0;
            int tries = 0;
            out.position(out.limit());
            in.clear();
            while (sent < toSend || received < toReceive) {
                boolean moved = false;
                if (sent < toSend) {
                    if (!out.hasRemaining()) {
                        prepare();
                    }
                    moved = endpoint.send(out, options.together() && sent + 1 < toSend) > 0;
                    if (!out.hasRemaining()) {
                        sent++;
                    }
                }
                if (received < toReceive) {
                    int now = endpoint.receive(in);
                    if (now < 0) {
                        throw lost("the peer ended the stream after " + bytesReceived + " bytes", null);
                    }
                    bytesReceived += now;
                    moved |= now > 0;
                    if (!in.hasRemaining()) {
                        if (options.verify()) {
                            receivedPattern.verify(inBytes, "stream at the " + side);
                        }
                        in.clear();
                        received++;
                    }
                }
                if (moved) {
                    tries = 0;
                } else if (++tries >= SPINS) {
                    tries = 0;
                    await(sent < toSend, received < toReceive);
                }
            }
        }

        private void prepare() {
            context.checkCancelled();
            if (options.verify()) {
                sentPattern.fill(outBytes);
            }
            options.fault().apply(unitsSent, units, outBytes);
            unitsSent++;
            out.clear();
        }

        private void await(boolean toSend, boolean toReceive) {
            long deadline = Waits.deadline(options.timeout());
            while (true) {
                context.checkCancelled();
                try {
                    Duration left = Waits.remaining(deadline);
                    endpoint.await(toReceive, toSend, left.compareTo(SLICE) < 0 ? left : SLICE);
                    return;
                } catch (RdmaTimeoutException e) {
                    if (Waits.remaining(deadline).isZero()) {
                        throw lost(
                                "no progress for "
                                        + options.timeout().toMillis() + " ms after " + bytesReceived
                                        + " bytes: the peer hangs, or has other sizes or counts",
                                e);
                    }
                }
            }
        }

        private ScenarioException lost(String what, @Nullable Throwable cause) {
            return new ScenarioException(Reason.PEER_LOST, "at the " + side + ", " + what, cause);
        }

        /** Requires the end of the stream after the last byte. */
        private void awaitEnd() {
            in.clear();
            int more = endpoint.receive(in);
            while (more == 0) {
                await(false, true);
                more = endpoint.receive(in);
            }
            if (more > 0) {
                throw new AssertionError("The " + side + " received at least " + more + " bytes after the last of "
                        + bytesReceived + ": both sides need the same size, transfers and iterations");
            }
        }

        private Result result() {
            return new Result(nanos, unitsSent * options.sizeBytes(), bytesReceived, receivedPattern.position());
        }
    }
}
