package io.rdmatest.stream;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.Closer;
import io.rdmatest.DeviceUnderTest;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;

/** What the tests of streams share. */
final class StreamFixture {

    static final Duration TIMEOUT = Duration.ofSeconds(15);
    static final Duration SHORT = Duration.ofMillis(200);
    static final InetSocketAddress ANY_PORT = new InetSocketAddress(DeviceUnderTest.ip4(), 0);

    private StreamFixture() {}

    /** Two connected endpoints, each with an event queue of its own. */
    record Pair(
            StreamEventQueue clientEvents,
            StreamEventQueue serverEvents,
            StreamListener listener,
            StreamEndpoint client,
            StreamEndpoint server)
            implements AutoCloseable {

        static Pair connect(StreamOptions options) {
            return connect(options, options);
        }

        static Pair connect(StreamOptions clientOptions, StreamOptions serverOptions) {
            try (Closer made = new Closer()) {
                StreamEventQueue serverEvents = made.own(StreamEventQueue.create());
                StreamEventQueue clientEvents = made.own(StreamEventQueue.create());
                StreamListener listener = made.own(StreamListener.listen(serverEvents, ANY_PORT, 4, serverOptions));
                StreamEndpoint client = made.own(
                        StreamEndpoint.connect(clientEvents, null, listener.localAddress(), clientOptions, TIMEOUT));
                StreamEvent request = serverEvents.await(TIMEOUT);
                assertThat(request.type()).isEqualTo(StreamEvent.Type.CONNREQ);
                StreamEndpoint server = made.own(request.request().accept());
                assertThat(clientEvents.await(TIMEOUT)).isEqualTo(StreamEvent.of(StreamEvent.Type.CONNECTED, client));
                assertThat(serverEvents.await(TIMEOUT)).isEqualTo(StreamEvent.of(StreamEvent.Type.CONNECTED, server));
                made.keep();
                return new Pair(clientEvents, serverEvents, listener, client, server);
            }
        }

        @Override
        public void close() {
            try (Closer all = new Closer()) {
                all.own(clientEvents);
                all.own(serverEvents);
                all.own(listener);
                all.own(server);
                all.own(client);
            }
        }
    }

    /** Bytes whose values tell their place in a stream: a period that no ring of a test has. */
    static void fill(ByteBuffer buffer, long position) {
        for (int i = buffer.position(); i < buffer.limit(); i++) {
            buffer.put(i, at(position + i - buffer.position()));
        }
    }

    static byte at(long position) {
        return (byte) (position % 251 + position / 251 % 7);
    }

    static void assertFilled(ByteBuffer buffer, long position) {
        for (int i = buffer.position(); i < buffer.limit(); i++) {
            long place = position + i - buffer.position();
            if (buffer.get(i) != at(place)) {
                throw new AssertionError("byte " + place + " of the stream is " + buffer.get(i) + ", not " + at(place));
            }
        }
    }

    /** Sends as much as is taken at once, up to a number of bytes; returns how many. */
    static int sendSome(StreamEndpoint endpoint, long position, int most) {
        return sendSome(endpoint, position, most, false);
    }

    static int sendSome(StreamEndpoint endpoint, long position, int most, boolean more) {
        ByteBuffer data = ByteBuffer.allocateDirect(most);
        fill(data, position);
        return endpoint.send(data, more);
    }

    static void sendAll(StreamEndpoint endpoint, long position, int length, int piece) {
        ByteBuffer data = ByteBuffer.allocateDirect(piece);
        for (long done = 0; done < length; ) {
            data.clear().limit((int) Math.min(piece, length - done));
            fill(data, position + done);
            while (data.hasRemaining()) {
                if (endpoint.send(data) == 0) {
                    endpoint.awaitWritable(TIMEOUT);
                }
            }
            done += data.limit();
        }
    }

    static void receiveAll(StreamEndpoint endpoint, long position, int length, int piece) {
        ByteBuffer data = ByteBuffer.allocate(piece);
        for (long done = 0; done < length; ) {
            data.clear().limit((int) Math.min(piece, length - done));
            int received = endpoint.receive(data);
            if (received < 0) {
                throw new AssertionError("the stream ended after " + done + " of " + length + " bytes");
            }
            if (received == 0) {
                endpoint.awaitReadable(TIMEOUT);
            }
            assertFilled(data.flip(), position + done);
            done += received;
        }
    }
}
