package io.rdmatest.scenarios.rstream;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.cm.AddressInfo;
import io.rdmatest.rsocket.MessageFlag;
import io.rdmatest.rsocket.RSocket;
import io.rdmatest.rsocket.Shutdown;
import io.rdmatest.scenarios.options.AddressTexts;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.scenarios.role.ScenarioException;
import java.lang.foreign.MemorySegment;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Streams over RDMA, rsocket(7). */
final class RsocketEndpoint implements StreamEndpoint {

    private static final MessageFlag[] NOW = {MessageFlag.DONTWAIT};
    private static final Duration SLICE = Duration.ofMillis(200);

    private final StreamAddresses addresses;
    private final RstreamOptions options;

    RsocketEndpoint(RoleContext context, RstreamOptions options) {
        this.addresses = new StreamAddresses(context, options);
        this.options = options;
    }

    @Override
    public StreamEndpoint.Listener listen(int backlog) {
        AddressInfo found = addresses.fromLibrary() ? addresses.lookupToListenAt() : null;
        InetSocketAddress local = found == null ? addresses.toListenAt() : null;
        RSocket socket = found != null ? RSocket.stream(found) : open(local);
        try {
            socket.reuseAddress(true);
            buffers(socket);
            if (found != null) {
                socket.bind(found);
            } else {
                socket.bind(local);
            }
            socket.listen(backlog);
            return new Listening(socket);
        } catch (RuntimeException e) {
            socket.close();
            throw e;
        }
    }

    private final class Listening implements StreamEndpoint.Listener {

        private final RSocket listener;

        Listening(RSocket listener) {
            this.listener = listener;
        }

        @Override
        public int port() {
            return listener.localAddress().getPort();
        }

        @Override
        public @Nullable StreamLink accept(Duration slice, List<StreamRow> rows) {
            // An accepted socket has its listener's inline size: its queue pair exists before it can be changed.
            inline(listener, rows);
            RSocket socket;
            try {
                socket = listener.accept(slice);
            } catch (RdmaTimeoutException e) {
                return null;
            } catch (RdmaException e) {
                throw isTooMuchInline(e, rows) ? tooMuchInline(e) : e;
            }
            try {
                socket.noDelay(true);
                keepAlive(socket);
                return new Link(socket, peer(socket));
            } catch (RuntimeException e) {
                socket.close();
                throw e;
            }
        }

        @Override
        public void close() {
            listener.close();
        }
    }

    @Override
    public StreamLink connect(int port, List<StreamRow> rows) {
        return addresses.fromLibrary()
                ? connect(addresses.lookupToConnectTo(port), addresses.lookupToConnectFrom(port), rows)
                : connect(addresses.toConnectTo(port), rows);
    }

    private StreamLink connect(AddressInfo target, @Nullable AddressInfo source, List<StreamRow> rows) {
        if (source != null
                && source.source().isPresent()
                && target.destination().isPresent()) {
            InetSocketAddress own = source.source().get();
            InetSocketAddress peer = target.destination().get();
            AddressTexts.requireOneFamily(
                    StreamAddresses.text(own), own.getAddress(), StreamAddresses.text(peer), peer.getAddress());
        }
        RSocket socket = RSocket.stream(target);
        return connected(socket, false, target.toString(), rows, () -> {
            tune(socket, rows);
            if (source != null) {
                bind(source.toString(), () -> socket.reuseAddress(true).bind(source));
            }
            socket.route(target).connect(target, options.timeout());
        });
    }

    private StreamLink connect(InetSocketAddress target, List<StreamRow> rows) {
        RSocket socket = open(target);
        return connected(socket, true, StreamAddresses.text(target), rows, () -> {
            tune(socket, rows);
            InetSocketAddress source = addresses.toConnectFrom(target);
            if (source != null) {
                bind(
                        StreamAddresses.text(source),
                        () -> socket.reuseAddress(true).bind(source));
            }
            socket.connect(target, options.timeout());
        });
    }

    private StreamLink connected(RSocket socket, boolean ip, String target, List<StreamRow> rows, Runnable connecting) {
        try {
            connecting.run();
            keepAlive(socket);
            return new Link(socket, target);
        } catch (RdmaTimeoutException e) {
            socket.close();
            throw StreamAddresses.noAnswer(target, options.timeout(), e);
        } catch (RdmaException e) {
            socket.close();
            throw isTooMuchInline(e, rows) ? tooMuchInline(e) : StreamAddresses.unreachable(target, ip, e);
        } catch (RuntimeException e) {
            socket.close();
            throw e;
        }
    }

    /**
     * Returns whether the inline size is probably too large for a queue pair. The library creates the queue pair when
     * it connects, and reports only EINVAL.
     */
    private boolean isTooMuchInline(RdmaException failure, List<StreamRow> rows) {
        return rows.getFirst().kind() == StreamRow.Kind.LATENCY
                && options.inlineBytes() > RstreamOptions.DEFAULT_INLINE
                && failure.errnoName().equals("EINVAL");
    }

    private ScenarioException tooMuchInline(RdmaException failure) {
        return new ScenarioException(
                Cause.UNSUPPORTED,
                "The device probably can't send %d bytes inline (-i): give a smaller size, or leave out -i for %d (%s)"
                        .formatted(options.inlineBytes(), RstreamOptions.DEFAULT_INLINE, failure.getMessage()),
                failure);
    }

    /** Binds the socket. A failure here does not concern the peer. */
    private static void bind(String own, Runnable binding) {
        try {
            binding.run();
        } catch (RdmaException e) {
            throw StreamAddresses.unbound(own, e);
        }
    }

    private void tune(RSocket socket, List<StreamRow> rows) {
        buffers(socket);
        socket.noDelay(true);
        inline(socket, rows);
    }

    /** Returns a text for the peer; a native InfiniBand address has none here. */
    private static String peer(RSocket socket) {
        try {
            return StreamAddresses.text(socket.remoteAddress());
        } catch (RdmaException e) {
            return "the client of " + socket.describe();
        }
    }

    private static RSocket open(InetSocketAddress address) {
        return RSocket.stream(
                address.getAddress() instanceof Inet6Address
                        ? StandardProtocolFamily.INET6
                        : StandardProtocolFamily.INET);
    }

    private void buffers(RSocket socket) {
        socket.sendBufferSize(options.effectiveBufferBytes()).receiveBufferSize(options.effectiveBufferBytes());
    }

    private void inline(RSocket socket, List<StreamRow> rows) {
        switch (rows.getFirst().kind()) {
            case LATENCY -> socket.inline(options.inlineBytes());
            case BANDWIDTH -> socket.inline(0);
            case CUSTOM -> {}
        }
    }

    private void keepAlive(RSocket socket) {
        if (!options.keepAliveIdle().isZero()) {
            socket.keepAlive(options.keepAliveIdle());
        }
    }

    private static final class Link implements StreamLink {

        private final RSocket socket;
        private final String peer;

        Link(RSocket socket, String peer) {
            this.socket = socket;
            this.peer = peer;
        }

        @Override
        public int send(Block block, int offset, boolean more) {
            try {
                return socket.send(part(block, offset), Duration.ZERO, NOW);
            } catch (RdmaException e) {
                throw judged(e);
            }
        }

        @Override
        public int receive(Block block, int offset) {
            try {
                return socket.receive(part(block, offset), Duration.ZERO, NOW);
            } catch (RdmaException e) {
                throw judged(e);
            }
        }

        private static MemorySegment part(Block block, int offset) {
            return offset == 0 ? block.segment() : block.segment().asSlice(offset);
        }

        @Override
        public boolean poll(boolean toReceive, boolean toSend) {
            // Of rstream, no side moves both ways at once.
            return toSend ? socket.awaitWritable(SLICE) : socket.awaitReadable(SLICE);
        }

        @Override
        public void endSending() {
            try {
                socket.shutdown(Shutdown.WRITE);
            } catch (RdmaException e) {
                throw judged(e);
            }
        }

        private RuntimeException judged(RdmaException e) {
            return switch (e.errnoName()) {
                case "ECONNRESET", "EPIPE", "EIO", "ENOTCONN", "ETIMEDOUT" -> StreamAddresses.broken(peer, e);
                default -> e;
            };
        }

        @Override
        public String peer() {
            return peer;
        }

        @Override
        public void close() {
            socket.close();
        }
    }
}
