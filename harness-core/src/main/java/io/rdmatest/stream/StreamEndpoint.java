package io.rdmatest.stream;

import io.rdmatest.Closer;
import io.rdmatest.Deadline;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.ConnectionParameters;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.internal.Errno;
import io.rdmatest.internal.linux.Descriptors;
import io.rdmatest.stream.StreamException.Reason;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.DriverQuirks;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.Transport;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One side of a byte stream over RDMA WRITE with credits, fi_rstream(7).
 *
 * <p>{@link #send} and {@link #receive} never wait: they copy as many bytes as fit or have arrived, and return their
 * number. {@link #peekSend()} and {@link #peekReceive()} return whether they would copy at least one byte. {@link
 * #awaitWritable} and {@link #awaitReadable} wait for that. {@link #fileDescriptor()} with {@link #tryWait()} serves
 * waits outside of this library.
 *
 * <p>Progress is manual: nothing happens in the background. Calls of this endpoint return credits to the peer and
 * process events of the connection manager. If one side makes no calls, the other side stalls as soon as its ring or
 * its credits are used up.
 *
 * <p>Data that arrived before the peer ended the connection is received first. Then {@link #receive} returns −1 and the
 * event queue reports SHUTDOWN. If a peer vanishes without a disconnect, only sending to it reveals that.
 *
 * <p>Thread-safe: one thread may send while another one receives. Several senders or receivers alternate call by call.
 */
public final class StreamEndpoint implements AutoCloseable {

    /** The least time between two checks of the connection manager by empty calls. */
    private static final long LISTEN_INTERVAL_NANOS = 1_000_000;

    /** The number of empty calls between two looks at the clock: a power of two, small for callers that call rarely. */
    private static final int EMPTY_CALLS_PER_CHECK = 8;

    private final DataPath path;
    /** Null if the endpoint is connected without the connection manager. */
    private final @Nullable CmId id;

    private final @Nullable StreamEventQueue queue;
    /** Whether the endpoint owns the queue and closes it. */
    private boolean ownsQueue;

    private final ReentrantLock waitLock = new ReentrantLock();
    private final Condition woken = waitLock.newCondition();
    /** Whether a thread waits in poll(2) for all others; guarded by {@link #waitLock}. */
    private boolean sleeping;
    /** For the thread in poll(2) only. */
    private final Descriptors descriptors;

    private volatile long listened = System.nanoTime();
    private int emptyCalls;
    private volatile boolean connected;
    private volatile @Nullable RuntimeException connectFailure;
    /** Whether the connection is over and all earlier data is in the receive ring. */
    private volatile boolean over;
    /** Whether SHUTDOWN has been reported; guarded by {@link #waitLock}. */
    private boolean reported;

    private volatile boolean shutDown;
    private volatile boolean closed;

    private StreamEndpoint(DataPath path, @Nullable CmId id, @Nullable StreamEventQueue queue) {
        this.path = path;
        this.id = id;
        this.queue = queue;
        this.descriptors = queue == null
                ? new Descriptors(path.fileDescriptor())
                : new Descriptors(path.fileDescriptor(), queue.fileDescriptor());
    }

    // ---- setting up ----

    /**
     * Connects to a listener and waits until the connection is established. The endpoint has its own event queue.
     *
     * @param target the listener's address
     * @param options the endpoint's sizes
     * @param timeout the longest wait
     * @return a connected endpoint
     * @throws RdmaTimeoutException if nobody answers in time
     * @throws io.rdmatest.UnexpectedCmEventException if the address has no RDMA route, nobody listens, or the listener's
     *     program rejects
     * @throws StreamException if either side rejects the other's connection data
     */
    public static StreamEndpoint connect(InetSocketAddress target, StreamOptions options, Duration timeout) {
        Deadline deadline = Deadline.after(timeout);
        try (Closer made = new Closer()) {
            StreamEventQueue queue = made.own(StreamEventQueue.create());
            StreamEndpoint endpoint = made.own(connect(queue, null, target, options, deadline.remaining()));
            endpoint.awaitConnected(deadline.remaining());
            endpoint.ownsQueue = true;
            made.keep();
            return endpoint;
        }
    }

    /**
     * Starts connecting to a listener, fi_connect(3). {@link StreamEvent.Type#CONNECTED} follows, or ERROR.
     *
     * @param queue where events are reported
     * @param source the local address; null lets the kernel choose it by the route
     * @param target the listener's address
     * @param options the endpoint's sizes
     * @param timeout the longest wait for the resolution of address and route
     * @return an endpoint that is not connected yet
     * @throws RdmaTimeoutException if the address can't be resolved in time
     * @throws RdmaException if there is no route, or the device can't create the endpoint
     * @throws StreamException if the options need RDMA WRITE with immediate and the device does not support it
     */
    public static StreamEndpoint connect(
            StreamEventQueue queue,
            @Nullable InetAddress source,
            InetSocketAddress target,
            StreamOptions options,
            Duration timeout) {
        Deadline deadline = Deadline.after(timeout);
        // A separate channel: nobody else may take the events of address and route resolution.
        try (EventChannel resolver = EventChannel.create();
                Closer made = new Closer()) {
            CmId id = made.own(resolver.createId(PortSpace.TCP));
            id.resolveAddress(source, target, deadline.remaining());
            id.resolveRoute(deadline.remaining());
            StreamEndpoint endpoint = made.own(of(id, queue, options));
            id.migrate(queue.channel());
            endpoint.path.postReceives();
            id.connect(parameters(endpoint, options.mode()));
            made.keep();
            return endpoint;
        }
    }

    static StreamEndpoint accept(StreamEventQueue queue, CmId id, ConnectionData peer, StreamOptions options) {
        try (Closer made = new Closer()) {
            made.own(id);
            StreamEndpoint endpoint = made.own(of(id, queue, options));
            endpoint.path.start(peer);
            endpoint.path.postReceives();
            id.accept(parameters(endpoint, options.mode()));
            made.keep();
            return endpoint;
        }
    }

    private static StreamEndpoint of(CmId id, StreamEventQueue queue, StreamOptions options) {
        requireImmediate(id.context(), options);
        DataPath path = DataPath.open(id.context(), id, options, 0);
        StreamEndpoint endpoint = new StreamEndpoint(path, id, queue);
        queue.register(id, endpoint::handle);
        return endpoint;
    }

    private static ConnectionParameters parameters(StreamEndpoint endpoint, StreamMode mode) {
        // Outside of split mode there are no reads or atomics. In split mode librdmacm requests the device's limits,
        // and replies with the lower limits of both.
        int reads = mode == StreamMode.SPLIT ? ConnectionParameters.MAXIMUM : 0;
        return ConnectionParameters.builder()
                .privateData(endpoint.localData())
                .responderResources(reads)
                .initiatorDepth(reads)
                // Without an end, a stream to a lost peer would hang.
                .retryCount(DriverQuirks.LARGEST_FINITE_RETRY_COUNT)
                .build();
    }

    private static void requireImmediate(DeviceContext context, StreamOptions options) {
        if (options.mode() != StreamMode.IWARP && context.transport() == Transport.IWARP) {
            throw new StreamException(
                    Reason.UNSUPPORTED,
                    context.deviceName() + " is an iWARP device, whose writes have no immediate data: use "
                            + StreamMode.IWARP + " on both sides");
        }
    }

    /**
     * Creates an endpoint that is connected without the connection manager. The caller connects {@link #queuePair()},
     * exchanges {@link #localData()} with the peer, and calls {@link #start}. Such an endpoint has no events, and its
     * peer gets no notice of a shutdown.
     *
     * @param context the device
     * @param options the endpoint's sizes
     * @return the endpoint, its queue pair in RESET
     * @throws StreamException if the options need RDMA WRITE with immediate and the device does not support it
     */
    public static StreamEndpoint unconnected(DeviceContext context, StreamOptions options) {
        return unconnected(context, options, 0);
    }

    /** Like the other method, but the counters begin after a number of bytes in each direction. */
    static StreamEndpoint unconnected(DeviceContext context, StreamOptions options, long passed) {
        requireImmediate(context, options);
        return new StreamEndpoint(DataPath.open(context, null, options, passed), null, null);
    }

    /** Returns the queue pair, to inspect it, or to connect it without the connection manager. */
    public QueuePair queuePair() {
        return path.queuePair();
    }

    /** Returns the connection data for the peer: 24 bytes, or 40 in {@link StreamMode#SPLIT} mode. */
    public byte[] localData() {
        return path.localData().encode();
    }

    /**
     * Starts a stream on a queue pair that was connected without the connection manager.
     *
     * <p>In {@link StreamMode#SPLIT} mode the queue pair must allow remote reads, with 4 outstanding ones in each
     * direction.
     *
     * @param peerData the peer's {@link #localData()}; further bytes are ignored
     * @throws StreamException if its version, mode or values don't fit
     * @throws IllegalStateException if the connection manager connects this endpoint, or it is already started
     * @throws RdmaException if the queue pair is still in RESET
     */
    public void start(byte[] peerData) {
        if (id != null || connected) {
            throw new IllegalStateException(this + (id != null ? " is connected by rdma_cm" : " is already started"));
        }
        path.start(ConnectionData.decode(peerData));
        path.postReceives();
        connected = true;
    }

    /**
     * Waits until the connection is established.
     *
     * @param timeout the longest wait
     * @throws RdmaTimeoutException if it is not established in time
     * @throws io.rdmatest.UnexpectedCmEventException if nobody listens, or the listener's program rejects the request
     * @throws StreamException if either side rejects the other's connection data
     */
    public void awaitConnected(Duration timeout) {
        Deadline deadline = Deadline.after(timeout);
        while (true) {
            int ignored = advance(true);
            RuntimeException failed = connectFailure;
            if (failed != null) {
                throw again(failed);
            }
            if (connected) {
                return;
            }
            deadline.check("connection of " + this, () -> "");
            sleep(deadline, () -> connected || connectFailure != null);
        }
    }

    private static RuntimeException again(RuntimeException failure) {
        return failure instanceof StreamException stream ? stream.again() : failure;
    }

    /** Returns whether the connection is established, as far as this side knows. */
    public boolean isConnected() {
        return connected && !over && path.failure() == null && !closed;
    }

    /**
     * Returns the peer's address.
     *
     * @throws IllegalStateException if the endpoint is not connected by rdma_cm
     */
    public InetSocketAddress remoteAddress() {
        return requireId().remoteAddress();
    }

    /**
     * Returns the local address.
     *
     * @throws IllegalStateException if the endpoint is not connected by rdma_cm
     */
    public InetSocketAddress localAddress() {
        return requireId().localAddress();
    }

    private CmId requireId() {
        if (id == null) {
            throw new IllegalStateException(this + " is connected without rdma_cm: it has no addresses");
        }
        return id;
    }

    // ---- data ----

    /**
     * Sends as many bytes as fit, fi_send(3). Copies once, and never waits.
     *
     * @param source the bytes to send, from its position on; the position moves past the accepted bytes
     * @return the number of accepted bytes; 0 if there is no room now (FI_EAGAIN), or nothing to send
     * @throws StreamException PEER_SHUT_DOWN if the peer ended the connection, CONNECTION_LOST if it broke
     * @throws IllegalStateException if the endpoint is not connected yet, shut down or closed
     */
    public int send(ByteBuffer source) {
        return send(source, false);
    }

    /**
     * Sends like {@link #send(ByteBuffer)}, but may hold small pieces back and write them together, fi_sendmsg(3) with
     * FI_MORE. Many small calls then need few messages.
     *
     * <p>The held bytes are written when they reach 16 KiB, when there is no more room, and by the next call that
     * sends, receives, waits, peeks or shuts down. A call with {@code false} and an empty buffer only writes them.
     * Nothing is written in the background. {@link #close} drops held bytes.
     *
     * @param source the bytes to send, from its position on; the position moves past the accepted bytes
     * @param more whether another call follows at once
     * @return the number of accepted bytes; 0 if there is no room now (FI_EAGAIN), or nothing to send
     * @throws StreamException PEER_SHUT_DOWN if the peer ended the connection, CONNECTION_LOST if it broke
     * @throws IllegalStateException if the endpoint is not connected yet, shut down or closed
     */
    public int send(ByteBuffer source, boolean more) {
        requireSendable();
        int sent = path.send(source, more);
        if (sent == 0 && source.hasRemaining()) {
            listenOccasionally();
            requireSendable();
        }
        return sent;
    }

    /**
     * Receives the bytes that have arrived, fi_recv(3). Copies once, and never waits.
     *
     * @param destination the buffer to fill, from its position on; the position moves past the received bytes
     * @return the number of bytes received; 0 if nothing has arrived (FI_EAGAIN) or the buffer is full; −1 if the
     *     connection is over and everything was received
     * @throws StreamException CONNECTION_LOST if the connection broke and everything that had arrived was received
     * @throws IllegalStateException if the endpoint is not connected yet, or closed
     * @throws ReadOnlyBufferException if the destination is read-only
     */
    public int receive(ByteBuffer destination) {
        if (destination.isReadOnly()) {
            throw new ReadOnlyBufferException();
        }
        requireConnected();
        int received = path.receive(destination);
        if (received == 0 && destination.hasRemaining()) {
            listenOccasionally();
            StreamException failure = failure();
            boolean ended = over || shutDown;
            if (ended || failure != null) {
                // Data that arrived before the end is in the ring by now, and is received first.
                received = path.receive(destination);
                if (received == 0 && ended) {
                    reportShutdown();
                    return -1;
                }
                if (received == 0) {
                    throw failure.again();
                }
            }
        } else if (over && atEnd()) {
            reportShutdown();
        }
        return received;
    }

    /**
     * Returns whether {@link #send} would accept at least one byte now, fi_sendmsg(3) with FI_PEEK.
     *
     * @throws StreamException PEER_SHUT_DOWN or CONNECTION_LOST
     * @throws IllegalStateException if the endpoint is not connected yet, shut down or closed
     */
    public boolean peekSend() {
        requireSendable();
        int ignored = advance(false);
        if (path.maySend()) {
            return true;
        }
        listenOccasionally();
        requireSendable();
        return false;
    }

    /**
     * Returns whether {@link #receive} would return data or the end of the stream now, fi_recvmsg(3) with FI_PEEK. As
     * there, the result is false while this side can't return credits because its whole send queue is unacknowledged.
     *
     * @throws StreamException CONNECTION_LOST if there is no data and never will be
     * @throws IllegalStateException if the endpoint is not connected yet, or closed
     */
    public boolean peekReceive() {
        requireConnected();
        int ignored = advance(false);
        if (path.available() == 0) {
            listenOccasionally();
            if (atEnd()) {
                return true;
            }
            throwFailure();
        }
        return path.available() > 0 && (over || path.hasControlCredit());
    }

    /** Returns how many bytes have arrived but were not received yet. */
    public int available() {
        requireConnected();
        int ignored = advance(false);
        return path.available();
    }

    private boolean atEnd() {
        return (over || shutDown) && path.available() == 0;
    }

    private void requireConnected() {
        if (closed) {
            throw new IllegalStateException(this + " is closed");
        }
        RuntimeException failed = connectFailure;
        if (failed != null) {
            throw again(failed);
        }
        if (!connected) {
            throw new IllegalStateException(this + " is not connected yet: wait for CONNECTED");
        }
    }

    private void requireSendable() {
        requireConnected();
        if (path.isStopped()) {
            throw new IllegalStateException(this + " was shut down and can't send any more");
        }
        if (over) {
            throw new StreamException(
                    Reason.PEER_SHUT_DOWN, "the peer of " + this + " ended the connection; no more data can be sent");
        }
        throwFailure();
    }

    private void throwFailure() {
        StreamException failure = failure();
        if (failure != null) {
            throw failure.again();
        }
    }

    /**
     * Returns why the connection broke; null if it did not. On iWARP an orderly end of the peer flushes the queue pair
     * before the event arrives; that is not a failure.
     */
    private @Nullable StreamException failure() {
        StreamException failure = path.failure();
        if (failure != null && queue != null && !over && path.wasFlushed()) {
            queue.pump();
            if (over) {
                return null;
            }
        }
        return failure;
    }

    // ---- progress and waiting ----

    /** Writes held bytes, takes completions and returns credits to the peer; returns the number of completions. */
    private int advance(boolean listen) {
        path.flush();
        int completions = path.progress();
        boolean ignored = path.pull();
        path.returnCredits();
        if (listen && queue != null) {
            queue.pump();
        }
        return completions;
    }

    private void listenOccasionally() {
        // Reading the clock costs as much as polling the queue. Lost updates of the counter only delay the check.
        if (queue != null
                && (++emptyCalls & EMPTY_CALLS_PER_CHECK - 1) == 0
                && System.nanoTime() - listened > LISTEN_INTERVAL_NANOS) {
            queue.pump();
            listened = System.nanoTime();
        }
    }

    /**
     * Waits until {@link #receive} would return something: data, or the end of the stream.
     *
     * @param timeout the longest wait
     * @throws RdmaTimeoutException if nothing arrives in time
     * @throws StreamException CONNECTION_LOST if the connection broke and everything that had arrived was received
     * @throws IllegalStateException if the endpoint is not connected yet, or closed, also during the wait
     * @throws RdmaException if the thread is interrupted, whose interrupt status stays set
     */
    public void awaitReadable(Duration timeout) {
        await(true, false, timeout);
    }

    /**
     * Waits until {@link #send} would accept at least one byte.
     *
     * @param timeout the longest wait
     * @throws RdmaTimeoutException if there is no room in time, because the peer does not receive
     * @throws StreamException PEER_SHUT_DOWN or CONNECTION_LOST
     * @throws IllegalStateException if the endpoint is not connected yet, shut down or closed, also during the wait
     * @throws RdmaException if the thread is interrupted, whose interrupt status stays set
     */
    public void awaitWritable(Duration timeout) {
        await(false, true, timeout);
    }

    /**
     * Waits until {@link #receive} would return something, or {@link #send} would accept at least one byte. For a
     * thread that does both.
     *
     * @param readable whether to wait for data, or the end of the stream
     * @param writable whether to wait for room
     * @param timeout the longest wait
     * @throws RdmaTimeoutException if neither is in time
     * @throws StreamException PEER_SHUT_DOWN if the wait is for room only and the peer ended the connection,
     *     CONNECTION_LOST
     * @throws IllegalStateException if the endpoint is not connected yet, or closed, also during the wait; or if it is
     *     shut down and the wait is for room only
     * @throws IllegalArgumentException if both parameters are false
     * @throws RdmaException if the thread is interrupted, whose interrupt status stays set
     */
    public void await(boolean readable, boolean writable, Duration timeout) {
        if (!readable && !writable) {
            throw new IllegalArgumentException("there is nothing to wait for");
        }
        Deadline deadline = Deadline.after(timeout);
        String what = (readable ? writable ? "data or room to send" : "data" : "room to send") + " on ";
        while (true) {
            requireConnected();
            int ignored = advance(true);
            if (readable && (path.available() > 0 || atEnd()) || writable && path.maySend()) {
                return;
            }
            if (readable) {
                throwFailure();
            } else {
                requireSendable();
            }
            deadline.check(what + this, path::describe);
            sleep(
                    deadline,
                    () -> over
                            || path.failure() != null
                            || readable && path.available() > 0
                            || writable && path.mayHaveRoom());
        }
    }

    /**
     * Returns the completion channel's file descriptor, which becomes readable when data is received or acknowledged
     * (FI_GETWAIT). It may be polled, but not read or closed. Call {@link #tryWait()} before each wait. The end of the
     * connection shows at {@link StreamEventQueue#fileDescriptor()}.
     */
    public int fileDescriptor() {
        requireOpen();
        return path.fileDescriptor();
    }

    /** Returns where this endpoint's events are reported; null if it is connected without the connection manager. */
    public @Nullable StreamEventQueue eventQueue() {
        return queue;
    }

    /**
     * Prepares {@link #fileDescriptor()} for a wait, fi_trywait(3).
     *
     * @return true if the descriptor will become readable at the next event; false if there was an event meanwhile,
     *     data to receive, or new room to send: then send or receive first
     */
    public boolean tryWait() {
        requireConnected();
        path.arm();
        return advance(false) == 0 && path.available() == 0 && !path.mayHaveRoom();
    }

    private void requireOpen() {
        if (closed) {
            throw new IllegalStateException(this + " is closed");
        }
    }

    /**
     * Waits for an event, at most a slice. One thread is in poll(2), the others wait for it.
     *
     * @param reached whether the awaited state is reached: another thread may have taken its event since this one checked
     */
    private void sleep(Deadline deadline, BooleanSupplier reached) {
        waitLock.lock();
        try {
            requireOpen();
            if (sleeping) {
                if (reached.getAsBoolean()) {
                    return;
                }
                long ignored =
                        woken.awaitNanos(TimeUnit.MILLISECONDS.toNanos(deadline.millis(StreamEventQueue.SLICE_MILLIS)));
                return;
            }
            sleeping = true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return;
        } finally {
            waitLock.unlock();
        }
        try {
            path.arm();
            // Completions before the request raise no event.
            if (advance(false) == 0 && !reached.getAsBoolean()) {
                boolean ignored = descriptors.awaitReadable(deadline.millis(StreamEventQueue.SLICE_MILLIS));
            }
        } finally {
            waitLock.lock();
            try {
                sleeping = false;
                woken.signalAll();
            } finally {
                waitLock.unlock();
            }
        }
    }

    // ---- events ----

    /** Handles an event of the connection manager. The caller holds the event queue's lock. */
    private void handle(CmEvent event) {
        switch (event.type()) {
            case ESTABLISHED -> established(event);
            case REJECTED, UNREACHABLE, CONNECT_ERROR -> notConnected(event);
            case DISCONNECTED -> disconnected();
            case DEVICE_REMOVAL -> removed();
            default -> {
                // No effect on a stream: TIMEWAIT_EXIT, ADDR_CHANGE.
            }
        }
        waitLock.lock();
        try {
            woken.signalAll();
        } finally {
            waitLock.unlock();
        }
    }

    private void established(CmEvent event) {
        StreamEventQueue events = Objects.requireNonNull(queue);
        if (!path.isStarted()) {
            try {
                path.start(ConnectionData.decode(event.privateData()));
            } catch (StreamException e) {
                connectFailure = e;
                disconnectQuietly();
                events.add(StreamEvent.error(this, e));
                return;
            }
        }
        connected = true;
        events.add(StreamEvent.of(StreamEvent.Type.CONNECTED, this));
    }

    private void notConnected(CmEvent event) {
        RuntimeException failure = refusal(event);
        connectFailure = failure;
        Objects.requireNonNull(queue).add(StreamEvent.error(this, failure));
    }

    private RuntimeException refusal(CmEvent event) {
        byte[] data = event.privateData();
        int length = 0;
        while (length < data.length && data[length] != 0) {
            length++;
        }
        String text = new String(data, 0, length, StandardCharsets.US_ASCII);
        if (text.startsWith(StreamListener.REFUSAL)) {
            return new StreamException(
                    Reason.REFUSED,
                    "the listener rejected " + this + ": " + text.substring(StreamListener.REFUSAL.length()));
        }
        try {
            CmEvent ignored = event.require(CmEvent.Type.ESTABLISHED);
            throw new IllegalStateException(event + " is not a failure");
        } catch (io.rdmatest.UnexpectedCmEventException e) {
            return e;
        }
    }

    /** Handles the end of the connection, by the peer or by this side. */
    private void disconnected() {
        if (over) {
            return;
        }
        // Data is in the completion queue before the disconnect event arrives, so it becomes readable first.
        path.drain();
        path.ending();
        try {
            // The reply: without it the peer repeats its DREQ.
            disconnectQuietly();
        } finally {
            path.drain();
            over = true;
        }
        if (path.available() == 0) {
            reportShutdown();
        }
    }

    /** Handles the removal of the device: unacknowledged data may be lost. */
    private void removed() {
        if (over || shutDown) {
            return;
        }
        path.drain();
        StreamException failure = new StreamException(
                Reason.CONNECTION_LOST, "the stream of " + this + " broke: its RDMA device was removed from this host");
        path.broke(failure);
        if (!connected && connectFailure == null) {
            connectFailure = failure;
        }
        Objects.requireNonNull(queue).add(StreamEvent.error(this, failure));
    }

    private void reportShutdown() {
        waitLock.lock();
        try {
            if (reported || queue == null || !over) {
                return;
            }
            reported = true;
        } finally {
            waitLock.unlock();
        }
        queue.add(StreamEvent.of(StreamEvent.Type.SHUTDOWN, this));
    }

    private void disconnectQuietly() {
        CmId ours = id;
        try {
            if (ours == null) {
                path.queuePair().toError();
            } else {
                ours.disconnect();
            }
        } catch (RdmaException e) {
            // The device is gone, or both sides disconnected at once.
            boolean twice = ours != null && e.errnoName().equals("EINVAL");
            if (!twice && !Errno.isDeviceGone(e.errno())) {
                throw e;
            }
        }
    }

    // ---- ending ----

    /**
     * Ends the stream in both directions, fi_shutdown(3). Waits until the peer's device has acknowledged all sent data,
     * in {@link StreamMode#SPLIT} mode until the peer has read all announced data, and disconnects. The peer receives
     * everything, then the end of the stream. Data that arrived here can still be received. Does nothing if the
     * connection is already over.
     *
     * @param timeout the longest wait for the acknowledgements; afterwards the connection is still established, and
     *     this can be called again
     * @throws RdmaTimeoutException if they don't arrive in time
     * @throws StreamException CONNECTION_LOST if the connection broke
     * @throws IllegalStateException if the endpoint is not connected yet, or closed
     */
    public void shutdown(Duration timeout) {
        Deadline deadline = Deadline.after(timeout);
        requireConnected();
        path.stopSending();
        while (!over && !shutDown) {
            int ignored = advance(true);
            throwFailure();
            if (path.outstanding() == 0) {
                break;
            }
            deadline.check("acknowledgement of all data by the peer of " + this, path::describe);
            sleep(deadline, () -> over || path.failure() != null || path.outstanding() == 0);
        }
        synchronized (this) {
            if (over || shutDown) {
                return;
            }
            path.drain();
            path.ending();
            disconnectQuietly();
            path.drain();
            shutDown = true;
        }
    }

    /**
     * Ends the connection at once and closes everything; does nothing the second time. Unacknowledged data may be lost:
     * call {@link #shutdown} first. Waits of other threads end with an {@link IllegalStateException}.
     */
    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        awaitSleeper();
        path.ending();
        try (Closer made = new Closer()) {
            if (queue != null && ownsQueue) {
                made.own(queue);
            }
            if (id != null) {
                made.own(id);
            }
            made.own(path::close);
            if (id != null && queue != null) {
                StreamEventQueue events = queue;
                CmId ours = id;
                made.own(() -> events.forget(ours, event -> event.endpoint() == this));
                if (connected && !over && !shutDown) {
                    made.own(this::disconnectQuietly);
                }
            }
        }
    }

    /** Waits until the thread in poll(2) has returned, at most a slice, before its descriptors are closed. */
    private void awaitSleeper() {
        waitLock.lock();
        try {
            woken.signalAll();
            while (sleeping) {
                woken.awaitUninterruptibly();
            }
        } finally {
            waitLock.unlock();
        }
    }

    @Override
    public String toString() {
        return "stream on " + (id == null ? path.queuePair().describe() : id.describe());
    }
}
