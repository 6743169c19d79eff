package io.rdmatest.stream;

import io.rdmatest.Closer;
import io.rdmatest.Deadline;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.internal.Errno;
import io.rdmatest.stream.StreamException.Reason;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A passive endpoint: waits for streams, fi_passive_ep(3), over rdma_cm's TCP port space.
 *
 * <p>The listener rejects a request with another protocol version or invalid connection data. The sender gets the
 * reason, and the event queue reports {@link StreamEvent.Type#ERROR}.
 *
 * <p>Thread-safe.
 */
public final class StreamListener implements AutoCloseable {

    /** The begin of each reject reason in private data. The other side recognises a reason by it. */
    static final String REFUSAL = "stream refused: ";

    private final StreamEventQueue queue;
    private final CmId id;
    private final StreamOptions options;
    /** Requests that were neither accepted nor rejected. */
    private final Set<StreamRequest> open = ConcurrentHashMap.newKeySet();

    private volatile boolean closed;

    private StreamListener(StreamEventQueue queue, CmId id, StreamOptions options) {
        this.queue = queue;
        this.id = id;
        this.options = options;
    }

    /**
     * Begins to listen.
     *
     * @param queue the queue that reports requests
     * @param address an address of an RDMA device, or the wildcard; with port 0 the kernel chooses one
     * @param backlog how many requests may wait, at least 0; with 0 the kernel chooses
     * @param options the options of accepted endpoints, unless {@link StreamRequest#accept} has others
     * @throws RdmaException EADDRNOTAVAIL or ENODEV if no RDMA device has the address, EADDRINUSE if the port is in use
     */
    public static StreamListener listen(
            StreamEventQueue queue, InetSocketAddress address, int backlog, StreamOptions options) {
        try (Closer made = new Closer()) {
            CmId id = made.own(queue.channel().createId(PortSpace.TCP));
            id.bind(address);
            StreamListener listener = new StreamListener(queue, id, options);
            queue.register(id, listener::handle);
            made.own(() -> queue.forget(id, event -> false));
            id.listen(backlog);
            made.keep();
            return listener;
        }
    }

    /** Returns the address and port of the listener. */
    public InetSocketAddress localAddress() {
        return id.localAddress();
    }

    /** Returns the options of accepted endpoints. */
    public StreamOptions options() {
        return options;
    }

    /** Returns the queue that reports requests. */
    public StreamEventQueue eventQueue() {
        return queue;
    }

    /**
     * Waits for a request, accepts it, and waits until the connection is established. It takes the request from the
     * event queue.
     *
     * @param timeout how long at most
     * @return a connected endpoint
     * @throws RdmaTimeoutException if no client connects in time
     * @throws StreamException if the client's request is rejected
     */
    public StreamEndpoint accept(Duration timeout) {
        Deadline deadline = Deadline.after(timeout);
        StreamEvent event = queue.await(
                next -> next.listener() == this, "request for a stream at " + id.describe(), deadline.remaining());
        StreamRequest request = event.request();
        if (request == null) {
            throw event.failure() instanceof StreamException refused
                    ? refused.again()
                    : new IllegalStateException("neither a request nor a failure: " + event);
        }
        try (Closer made = new Closer()) {
            StreamEndpoint endpoint = made.own(request.accept(options));
            endpoint.awaitConnected(deadline.remaining());
            made.keep();
            return endpoint;
        }
    }

    private void handle(CmEvent event) {
        if (event.type() != CmEvent.Type.CONNECT_REQUEST) {
            return;
        }
        try {
            ConnectionData peer = ConnectionData.decode(event.privateData());
            StreamRequest request = new StreamRequest(this, event.id(), peer);
            open.add(request);
            queue.add(StreamEvent.request(this, request));
        } catch (StreamException e) {
            refuse(event.id(), e.reason() == Reason.VERSION_MISMATCH ? "this side has version 2" : "bad data");
            queue.add(StreamEvent.refused(this, e));
        }
    }

    static void refuse(CmId id, String why) {
        try (id) {
            id.reject((REFUSAL + why).getBytes(StandardCharsets.US_ASCII));
        } catch (RdmaException e) {
            // The peer or the device is gone, so nobody gets the rejection.
            if (!e.errnoName().equals("EINVAL") && !Errno.isDeviceGone(e.errno())) {
                throw e;
            }
        }
    }

    void answered(StreamRequest request) {
        open.remove(request);
    }

    /** Stops listening and rejects unanswered requests; does nothing the second time. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        try (Closer made = new Closer()) {
            made.own(id);
            queue.forget(id, event -> event.listener() == this);
            for (StreamRequest request : open) {
                made.own(request::reject);
            }
        }
    }

    @Override
    public String toString() {
        return "stream listener on " + id.describe();
    }
}
