package io.rdmatest.scenarios.rstream;

import io.rdmatest.Cause;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.scenarios.role.ScenarioException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.List;
import jdk.net.ExtendedSocketOptions;
import org.jspecify.annotations.Nullable;

/** Streams over plain TCP sockets, as rstream(1) does with -T s: the same exchange without RDMA. */
final class TcpEndpoint implements StreamEndpoint {

    private static final int SLICE_MILLIS = 200;

    private final StreamAddresses addresses;
    private final RstreamOptions options;

    TcpEndpoint(RoleContext context, RstreamOptions options) {
        this.addresses = new StreamAddresses(context, options);
        this.options = options;
    }

    @Override
    public StreamEndpoint.Listener listen(int backlog) {
        InetSocketAddress local = addresses.fromLibrary()
                ? addresses.lookupToListenAt().source().orElseGet(addresses::toListenAt)
                : addresses.toListenAt();
        try {
            ServerSocketChannel listener = ServerSocketChannel.open();
            Selector selector = null;
            boolean listening = false;
            try {
                selector = Selector.open();
                listener.setOption(StandardSocketOptions.SO_REUSEADDR, true);
                // The window is negotiated when connecting, so the listener's size counts.
                listener.setOption(StandardSocketOptions.SO_RCVBUF, options.effectiveBufferBytes());
                listener.bind(local, backlog);
                listener.configureBlocking(false);
                listener.register(selector, SelectionKey.OP_ACCEPT);
                listening = true;
                return new Listening(listener, selector);
            } finally {
                if (!listening) {
                    close(selector, listener);
                }
            }
        } catch (IOException e) {
            throw new ScenarioException(
                    Cause.HOST_NOT_READY,
                    "Can't listen at %s (%s): choose another port, or an address of this host"
                            .formatted(StreamAddresses.text(local), e.getMessage()),
                    e);
        }
    }

    private final class Listening implements StreamEndpoint.Listener {

        private final ServerSocketChannel listener;
        private final Selector selector;

        Listening(ServerSocketChannel listener, Selector selector) {
            this.listener = listener;
            this.selector = selector;
        }

        @Override
        public int port() {
            return listener.socket().getLocalPort();
        }

        @Override
        public @Nullable StreamLink accept(Duration slice, List<StreamRow> rows) {
            try {
                SocketChannel channel = listener.accept();
                if (channel == null) {
                    selector.select(Math.max(1, slice.toMillis()));
                    selector.selectedKeys().clear();
                    channel = listener.accept();
                }
                return channel == null ? null : link(channel);
            } catch (IOException e) {
                throw new UncheckedIOException("Can't accept TCP connections", e);
            }
        }

        @Override
        public void close() {
            TcpEndpoint.close(selector, listener);
        }
    }

    @Override
    public StreamLink connect(int port, List<StreamRow> rows) {
        InetSocketAddress target = addresses.fromLibrary()
                ? addresses.lookupToConnectTo(port).destination().orElseGet(() -> addresses.toConnectTo(port))
                : addresses.toConnectTo(port);
        InetSocketAddress source = addresses.toConnectFrom(target);
        boolean linked = false;
        try {
            SocketChannel channel = SocketChannel.open();
            try {
                channel.setOption(StandardSocketOptions.SO_RCVBUF, options.effectiveBufferBytes());
                if (source != null) {
                    channel.setOption(StandardSocketOptions.SO_REUSEADDR, true);
                    channel.bind(source);
                }
                channel.socket()
                        .connect(
                                target,
                                Math.toIntExact(Math.max(1, options.timeout().toMillis())));
                StreamLink link = link(channel);
                linked = true;
                return link;
            } finally {
                if (!linked) {
                    close(null, channel);
                }
            }
        } catch (java.net.SocketTimeoutException e) {
            throw StreamAddresses.noAnswer(StreamAddresses.text(target), options.timeout(), e);
        } catch (BindException e) {
            throw new ScenarioException(
                    Cause.HOST_NOT_READY,
                    "Can't bind to %s (%s): as with the C program, -b binds a client to the port of -p; give an address of this host and a free port, or leave out -b"
                            .formatted(source == null ? "a local port" : StreamAddresses.text(source), e.getMessage()),
                    e);
        } catch (NoRouteToHostException e) {
            throw noRoute(target, e);
        } catch (ConnectException e) {
            throw String.valueOf(e.getMessage()).contains("refused")
                    ? StreamAddresses.refused(target, e)
                    : noRoute(target, e);
        } catch (IOException e) {
            throw noRoute(target, e);
        }
    }

    private static ScenarioException noRoute(InetSocketAddress target, IOException e) {
        return new ScenarioException(
                Cause.NO_ROUTE,
                "Can't connect to %s (%s): give an address that this host can reach from its local address"
                        .formatted(StreamAddresses.text(target), e.getMessage()),
                e);
    }

    private StreamLink link(SocketChannel channel) throws IOException {
        boolean linked = false;
        Selector selector = null;
        try {
            selector = Selector.open();
            channel.setOption(StandardSocketOptions.SO_SNDBUF, options.effectiveBufferBytes());
            channel.setOption(StandardSocketOptions.SO_RCVBUF, options.effectiveBufferBytes());
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            if (!options.keepAliveIdle().isZero()) {
                channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
                channel.setOption(
                        ExtendedSocketOptions.TCP_KEEPIDLE,
                        Math.toIntExact(options.keepAliveIdle().toSeconds()));
            }
            channel.configureBlocking(false);
            Link link = new Link(channel, selector, channel.register(selector, 0));
            linked = true;
            return link;
        } finally {
            if (!linked) {
                close(selector, channel);
            }
        }
    }

    private static void close(@Nullable Selector selector, java.nio.channels.Channel channel) {
        try (channel;
                selector) {
            // Close both, even if the first one throws.
        } catch (IOException e) {
            throw new UncheckedIOException("Can't close a TCP socket", e);
        }
    }

    private static final class Link implements StreamLink {

        private final SocketChannel channel;
        private final Selector selector;
        private final SelectionKey key;
        private final String peer;

        Link(SocketChannel channel, Selector selector, SelectionKey key) throws IOException {
            this.channel = channel;
            this.selector = selector;
            this.key = key;
            this.peer = StreamAddresses.text((InetSocketAddress) channel.getRemoteAddress());
        }

        @Override
        public int send(Block block, int offset, boolean more) {
            try {
                return channel.write(part(block, offset));
            } catch (IOException e) {
                throw StreamAddresses.broken(peer, e);
            }
        }

        @Override
        public int receive(Block block, int offset) {
            try {
                return channel.read(part(block, offset));
            } catch (IOException e) {
                throw StreamAddresses.broken(peer, e);
            }
        }

        private static ByteBuffer part(Block block, int offset) {
            return block.bytes().clear().position(offset);
        }

        @Override
        public boolean poll(boolean toReceive, boolean toSend) {
            try {
                key.interestOps((toSend ? SelectionKey.OP_WRITE : 0) | (toReceive ? SelectionKey.OP_READ : 0));
                int ready = selector.select(SLICE_MILLIS);
                selector.selectedKeys().clear();
                return ready > 0;
            } catch (IOException e) {
                throw new UncheckedIOException("Can't wait for the TCP connection to " + peer, e);
            }
        }

        @Override
        public void endSending() {
            try {
                channel.shutdownOutput();
            } catch (IOException e) {
                throw StreamAddresses.broken(peer, e);
            }
        }

        @Override
        public String peer() {
            return peer;
        }

        @Override
        public void close() {
            TcpEndpoint.close(selector, channel);
        }
    }
}
