package io.rdmatest.scenarios.stream;

import io.rdmatest.Cause;
import io.rdmatest.Deadline;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.scenarios.engine.DeviceBinding;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.scenarios.rstream.Exchange;
import io.rdmatest.scenarios.rstream.StreamLink;
import io.rdmatest.scenarios.rstream.StreamRow;
import io.rdmatest.stream.StreamEndpoint;
import io.rdmatest.stream.StreamEvent;
import io.rdmatest.stream.StreamEventQueue;
import io.rdmatest.stream.StreamException;
import io.rdmatest.stream.StreamListener;
import io.rdmatest.stream.StreamRequest;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.function.Supplier;

/**
 * The two sides of a stream over RDMA WRITE with credits: the exchange of rstream(1), or both directions at once.
 *
 * <p>Only rings, credits and the protocol version are negotiated. At the end the client shuts the stream down. The
 * server requires the end of the stream after exactly the expected bytes.
 */
public final class RmaStreamRoles {

    /** The slice of a wait: then it checks whether the scenario was cancelled. */
    private static final Duration SLICE = Duration.ofMillis(200);

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
                    return exchange(context, options, link(context, options, endpoint), buffers, false);
                }
            }
        }

        private StreamRequest awaitRequest(RoleContext context, StreamEventQueue events) {
            Deadline deadline = Deadline.after(options.firstWait());
            while (true) {
                context.checkCancelled();
                try {
                    Duration left = deadline.remaining();
                    StreamEvent event = events.await(left.compareTo(SLICE) > 0 ? SLICE : left);
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
                    if (deadline.isOver()) {
                        throw new ScenarioException(
                                Cause.PEER_ABSENT,
                                "No client of the stream connected within %d ms: start one, or allow more time"
                                        .formatted(deadline.timeout().toMillis()),
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
                return exchange(context, options, link(context, options, endpoint), buffers, true);
            }
        }

        private void awaitConnected(StreamEndpoint endpoint, InetSocketAddress target) {
            try {
                endpoint.awaitConnected(options.timeout());
            } catch (RdmaTimeoutException e) {
                throw new ScenarioException(
                        Cause.PEER_ABSENT,
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
            // A peer with another protocol is a peer of another program.
            Cause why = e.reason() == StreamException.Reason.PROTOCOL_VIOLATION ? Cause.REJECTED : e.rdmaCause();
            throw new ScenarioException(why, String.valueOf(e.getMessage()), e);
        }
    }

    private static StreamLink link(RoleContext context, RmaStreamOptions options, StreamEndpoint endpoint) {
        DeviceBinding.require(context, endpoint.queuePair());
        String peer = endpoint.remoteAddress().getAddress().getHostAddress() + " port "
                + endpoint.remoteAddress().getPort();
        context.trace(() -> "connected with " + peer);
        return new Link(endpoint, peer, options.timeout());
    }

    /** Moves all transfers, as one row of rstream without its syncs. */
    private static Result exchange(
            RoleContext context, RmaStreamOptions options, StreamLink link, TransferBuffers buffers, boolean client) {
        StreamRow row = StreamRow.custom(options.sizeBytes(), options.transfers(), options.iterations());
        Exchange exchange = new Exchange(
                context,
                new Exchange.Settings(
                        false,
                        false,
                        options.bothAtOnce(),
                        options.together(),
                        options.verify(),
                        options.fault(),
                        options.timeout()),
                client ? "client" : "server",
                0,
                (long) options.transfers() * options.iterations());
        exchange.run(link, StreamLink.Block.of(buffers.out()), StreamLink.Block.of(buffers.in()), row, client);
        if (client) {
            link.endSending();
        } else {
            exchange.requireEnd(link);
        }
        return new Result(
                exchange.timings().getFirst().nanos(),
                options.bytesEachWay(),
                exchange.bytesReceived(),
                exchange.bytesVerified());
    }

    /** A connected stream. */
    private record Link(StreamEndpoint endpoint, String peer, Duration timeout) implements StreamLink {

        @Override
        public int send(Block block, int offset, boolean more) {
            return endpoint.send(block.bytes().clear().position(offset), more);
        }

        @Override
        public int receive(Block block, int offset) {
            return endpoint.receive(block.bytes().clear().position(offset));
        }

        @Override
        public boolean poll(boolean toReceive, boolean toSend) {
            try {
                endpoint.await(toReceive, toSend, SLICE);
                return true;
            } catch (RdmaTimeoutException e) {
                return false;
            }
        }

        @Override
        public void endSending() {
            endpoint.shutdown(timeout);
        }

        @Override
        public void close() {
            endpoint.close();
        }
    }
}
