package io.rdmatest.stream;

import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.UnexpectedCmEventException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.ClosedChannelException;
import java.time.Duration;
import java.util.Objects;

/**
 * A stream as a blocking {@link ByteChannel}.
 *
 * <p>A read waits for at least one byte, a write until all bytes are accepted, both at most for the channel's timeout.
 * One thread may read while another writes. Closing shuts the stream down, so that the peer receives everything that
 * was written.
 */
public final class StreamChannel implements ByteChannel {

    private final StreamEndpoint endpoint;
    private final Duration timeout;
    private volatile boolean open = true;

    /**
     * Makes a channel of an endpoint. Closing the channel closes the endpoint.
     *
     * @param endpoint a connected endpoint
     * @param timeout the longest wait of a read, a write or closing
     */
    public StreamChannel(StreamEndpoint endpoint, Duration timeout) {
        this.endpoint = Objects.requireNonNull(endpoint, "endpoint");
        this.timeout = Objects.requireNonNull(timeout, "timeout");
    }

    /**
     * Connects to a listener.
     *
     * @param target the listener's address
     * @param options the endpoint's sizes
     * @param timeout the longest wait of connecting, and of each read, write and closing
     * @return the open channel
     * @throws SocketTimeoutException if nobody answers in time
     * @throws IOException if the connection is not established; the cause says why
     */
    public static StreamChannel connect(InetSocketAddress target, StreamOptions options, Duration timeout)
            throws IOException {
        try {
            return new StreamChannel(StreamEndpoint.connect(target, options, timeout), timeout);
        } catch (RdmaTimeoutException e) {
            throw timedOut(e);
        } catch (RdmaException | UnexpectedCmEventException e) {
            throw new IOException(e.getMessage(), e);
        }
    }

    /** Returns the endpoint. */
    public StreamEndpoint endpoint() {
        return endpoint;
    }

    /**
     * Reads the available bytes. Waits for at least one.
     *
     * @param destination the buffer to fill
     * @return the number of bytes; 0 only if the destination has no room; −1 after the end of the stream
     * @throws SocketTimeoutException if no byte arrived in time
     * @throws ClosedChannelException if the channel is closed, also during the wait
     * @throws IOException if the connection broke
     */
    @Override
    public int read(ByteBuffer destination) throws IOException {
        requireOpen();
        if (!destination.hasRemaining()) {
            return 0;
        }
        try {
            int received = endpoint.receive(destination);
            while (received == 0) {
                endpoint.awaitReadable(timeout);
                received = endpoint.receive(destination);
            }
            return received;
        } catch (RuntimeException e) {
            throw translated(e);
        }
    }

    /**
     * Writes all bytes of a buffer.
     *
     * @param source the bytes to write
     * @return the number of bytes
     * @throws SocketTimeoutException if the peer made no room in time; the source's position is after the accepted
     *     bytes
     * @throws ClosedChannelException if the channel is closed, also during the wait
     * @throws IOException if the peer ended the stream, or the connection broke
     */
    @Override
    public int write(ByteBuffer source) throws IOException {
        requireOpen();
        int begin = source.position();
        try {
            while (source.hasRemaining()) {
                if (endpoint.send(source) == 0) {
                    endpoint.awaitWritable(timeout);
                }
            }
            return source.position() - begin;
        } catch (RuntimeException e) {
            throw translated(e);
        }
    }

    private void requireOpen() throws ClosedChannelException {
        if (!open) {
            throw new ClosedChannelException();
        }
    }

    private IOException translated(RuntimeException e) {
        if (!open) {
            ClosedChannelException closed = new ClosedChannelException();
            closed.initCause(e);
            return closed;
        }
        if (e instanceof RdmaTimeoutException timeoutException) {
            return timedOut(timeoutException);
        }
        if (e instanceof RdmaException) {
            return new IOException(e.getMessage(), e);
        }
        throw e;
    }

    private static SocketTimeoutException timedOut(RdmaTimeoutException cause) {
        SocketTimeoutException exception = new SocketTimeoutException(cause.getMessage());
        exception.initCause(cause);
        return exception;
    }

    @Override
    public boolean isOpen() {
        return open;
    }

    /**
     * Shuts the stream down and closes it; does nothing the second time.
     *
     * @throws SocketTimeoutException if the peer did not acknowledge everything; the channel is closed nevertheless
     */
    @Override
    public void close() throws IOException {
        synchronized (this) {
            if (!open) {
                return;
            }
            open = false;
        }
        try (endpoint) {
            endpoint.shutdown(timeout);
        } catch (RdmaTimeoutException e) {
            throw timedOut(e);
        } catch (StreamException e) {
            throw new IOException(e.getMessage(), e);
        }
    }
}
