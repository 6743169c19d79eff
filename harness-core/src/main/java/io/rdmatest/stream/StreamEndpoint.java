package io.rdmatest.stream;

import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.ConnectionParameters;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.internal.Cleanup;
import io.rdmatest.internal.Descriptors;
import io.rdmatest.internal.Errno;
import io.rdmatest.stream.StreamException.Reason;
import io.rdmatest.verbs.DeviceContext;
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
 * <p>{@link #send} and {@link #receive} never wait: they copy what there is room for or what has arrived, and return how
 * much that was. {@link #peekSend()} and {@link #peekReceive()} tell whether they would do anything,
 * {@link #awaitWritable} and {@link #awaitReadable} wait until they would, and {@link #fileDescriptor()} with
 * {@link #tryWait()} is for waiting outside of this library.
 *
 * <p>Progress is manual: nothing happens in the background. Credits go back to the peer, and the connection manager is
 * listened to, in calls of this endpoint; a side that calls nothing brings the other to a standstill as soon as its ring or
 * its credits are used up.
 *
 * <p>What had arrived when the peer ended the connection is received first; then {@link #receive} returns −1 and the event
 * queue reports SHUTDOWN. A peer that vanished without ending the connection is noticed only by sending to it.
 *
 * <p>Safe for use by several threads: one may send while another receives; several that send, or receive, take turns, call
 * by call.
 */
public final class StreamEndpoint implements AutoCloseable {

    /** How often a call that finds nothing listens to the connection manager. */
    private static final long LISTEN_NANOS = 1_000_000;

    /** How many calls that find nothing there are for one look at the clock, a power of two: few, for callers that call seldom. */
    private static final int VAIN_PER_LOOK = 8;

    private final DataPath path;
    /** Null for an endpoint that is connected without the connection manager. */
    private final @Nullable CmId id;

    private final @Nullable StreamEventQueue queue;
    /** Whether the queue is nobody else's, and is closed together with the endpoint. */
    private boolean ownsQueue;

    private final ReentrantLock waitLock = new ReentrantLock();
    private final Condition woken = waitLock.newCondition();
    /** Whether a thread waits in poll(2) for all others; guarded by {@link #waitLock}. */
    private boolean sleeping;
    /** For the one thread that sleeps. */
    private final Descriptors descriptors;

    private volatile long listened = System.nanoTime();
    private int vain;
    private volatile boolean connected;
    private volatile @Nullable RuntimeException connectFailure;
    /** Whether the connection is over, and all that had arrived before is in the receive ring. */
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
     * Connects to a listener and waits until the connection stands; the endpoint has an event queue of its own.
     *
     * @param target the listener's address
     * @param options the endpoint's sizes
     * @param timeout how long at most
     * @return a connected endpoint
     * @throws RdmaTimeoutException if nobody answers in time
     * @throws io.rdmatest.UnexpectedCmEventException if the address has no RDMA route, nobody listens, or the listener's
     *     program rejects
     * @throws StreamException if either side refuses the other's connection data
     */
    public static StreamEndpoint connect(InetSocketAddress target, StreamOptions options, Duration timeout) {
        Deadline deadline = Deadline.after(timeout);
        try (Cleanup made = new Cleanup()) {
            StreamEventQueue queue = made.add(StreamEventQueue.create());
            StreamEndpoint endpoint = made.add(connect(queue, null, target, options, deadline.remaining()));
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
     * @param source the local address; null leaves it to the routes
     * @param target the listener's address
     * @param options the endpoint's sizes
     * @param timeout how long to resolve the address and the route at most
     * @return an endpoint that is not connected yet
     * @throws RdmaTimeoutException if the address can't be resolved in time
     * @throws RdmaException if there is no route to it, or the device can't make the endpoint
     * @throws StreamException if the device has no RDMA WRITE with immediate and the options ask for it
     */
    public static StreamEndpoint connect(
            StreamEventQueue queue,
            @Nullable InetAddress source,
            InetSocketAddress target,
            StreamOptions options,
            Duration timeout) {
        Deadline deadline = Deadline.after(timeout);
        // Of its own: nobody else may take the answers to the steps before the connection.
        try (EventChannel resolver = EventChannel.create();
                Cleanup made = new Cleanup()) {
            CmId id = made.add(resolver.createId(PortSpace.TCP));
            id.resolveAddress(source, target, deadline.remaining());
            id.resolveRoute(deadline.remaining());
            StreamEndpoint endpoint = made.add(of(id, queue, options));
            id.migrate(queue.channel());
            endpoint.path.postReceives();
            id.connect(parameters(endpoint, options.mode()));
            made.keep();
            return endpoint;
        }
    }

    static StreamEndpoint accept(StreamEventQueue queue, CmId id, ConnectionData peer, StreamOptions options) {
        try (Cleanup made = new Cleanup()) {
            made.add(id);
            StreamEndpoint endpoint = made.add(of(id, queue, options));
            endpoint.path.start(peer);
            endpoint.path.postReceives();
            id.accept(parameters(endpoint, options.mode()));
            made.keep();
            return endpoint;
        }
    }

    private static StreamEndpoint of(CmId id, StreamEventQueue queue, StreamOptions options) {
        requireImmediate(id.context(), options);
        DataPath path = DataPath.open(id.context(), options, id::createQueuePair);
        StreamEndpoint endpoint = new StreamEndpoint(path, id, queue);
        queue.register(id, endpoint::handle);
        return endpoint;
    }

    private static ConnectionParameters parameters(StreamEndpoint endpoint, StreamMode mode) {
        // But for the split mode, writes and sends only: no reads or atomics may be outstanding. There, librdmacm asks
        // for what
        // the device can do, and answers with what both can.
        int reads = mode == StreamMode.SPLIT ? ConnectionParameters.MAXIMUM : 0;
        return ConnectionParameters.builder()
                .privateData(endpoint.localData())
                .responderResources(reads)
                .initiatorDepth(reads)
                // The most that ends: soft-RoCE takes 7 for without end, and a stream to a peer that is gone would
                // hang.
                .retryCount(6)
                .build();
    }

    private static void requireImmediate(DeviceContext context, StreamOptions options) {
        if (options.mode() != StreamMode.IWARP && context.transport() == Transport.IWARP) {
            throw new StreamException(
                    Reason.UNSUPPORTED,
                    context.deviceName() + " is an iWARP device, whose writes carry no immediate data: use "
                            + StreamMode.IWARP + " on both sides");
        }
    }

    /**
     * Makes an endpoint that is connected without the connection manager: the caller connects {@link #queuePair()} by
     * itself, exchanges {@link #localData()} on a way of its own, and calls {@link #start}. Such an endpoint has no events,
     * and its peer does not learn that it was shut down.
     *
     * @param context the device
     * @param options the endpoint's sizes
     * @return the endpoint, its queue pair in RESET
     * @throws StreamException if the device has no RDMA WRITE with immediate and the options ask for it
     */
    public static StreamEndpoint unconnected(DeviceContext context, StreamOptions options) {
        return unconnected(context, options, 0);
    }

    /** As the other, as if a number of bytes had passed in each direction already. */
    static StreamEndpoint unconnected(DeviceContext context, StreamOptions options, long passed) {
        requireImmediate(context, options);
        return new StreamEndpoint(
                DataPath.open(context, options, (pd, attributes) -> pd.createQueuePair(attributes), passed),
                null,
                null);
    }

    /** Returns the queue pair: to be connected where that is not done by the connection manager, and to be looked at. */
    public QueuePair queuePair() {
        return path.queuePair();
    }

    /** Returns what the peer needs to know: 24 bytes, in the mode {@link StreamMode#SPLIT} 40. */
    public byte[] localData() {
        return path.localData().encode();
    }

    /**
     * Starts a stream on a queue pair that was connected without the connection manager.
     *
     * <p>In the mode {@link StreamMode#SPLIT} the queue pair must allow the peer to read, and both up to 4 reads at once.
     *
     * @param peerData the peer's {@link #localData()}; what follows it is ignored
     * @throws StreamException if it is of another version or mode, or no stream can work with it
     * @throws IllegalStateException if the connection manager connects this endpoint, or it is started already
     * @throws RdmaException if the queue pair is still in RESET
     */
    public void start(byte[] peerData) {
        if (id != null || connected) {
            throw new IllegalStateException(this + (id != null ? " is connected by rdma_cm" : " is started already"));
        }
        path.start(ConnectionData.decode(peerData));
        path.postReceives();
        connected = true;
    }

    /**
     * Waits until the connection stands.
     *
     * @param timeout how long at most
     * @throws RdmaTimeoutException if that takes longer
     * @throws io.rdmatest.UnexpectedCmEventException if nobody listens, or the listener's program rejects
     * @throws StreamException if either side refuses the other's connection data
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

    /** Tells whether the connection stands, as far as this side knows. */
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
     * Sends what there is room for, fi_send(3); copies once, and never waits.
     *
     * @param source what to send, from its position on; the position moves behind what was taken
     * @return the number of bytes taken; 0 if there is no room now (FI_EAGAIN), or nothing to send
     * @throws StreamException PEER_SHUT_DOWN if the peer ended the connection, CONNECTION_LOST if it broke
     * @throws IllegalStateException if the endpoint is not connected yet, shut down or closed
     */
    public int send(ByteBuffer source) {
        return send(source, false);
    }

    /**
     * Sends what there is room for, as {@link #send(ByteBuffer)} does, and may hold small pieces back to write them to the
     * peer together, fi_sendmsg(3) with FI_MORE: many small calls then cost the device few messages.
     *
     * <p>What is held back is written when it comes to 16 KiB, when there is no room for more, and by the next call of any
     * other method that sends, receives, waits, looks or shuts down; a call with {@code false} and an empty buffer does
     * nothing else. Without any of these it stays where it is: nothing happens in the background. {@link #close} drops it.
     *
     * @param source what to send, from its position on; the position moves behind what was taken
     * @param more whether another call follows at once
     * @return the number of bytes taken; 0 if there is no room now (FI_EAGAIN), or nothing to send
     * @throws StreamException PEER_SHUT_DOWN if the peer ended the connection, CONNECTION_LOST if it broke
     * @throws IllegalStateException if the endpoint is not connected yet, shut down or closed
     */
    public int send(ByteBuffer source, boolean more) {
        requireSendable();
        int sent = path.send(source, more);
        if (sent == 0 && source.hasRemaining()) {
            listenNowAndThen();
            requireSendable();
        }
        return sent;
    }

    /**
     * Receives what has arrived, fi_recv(3); copies once, and never waits.
     *
     * @param destination where to put it, from its position on; the position moves behind it
     * @return the number of bytes received; 0 if nothing has arrived (FI_EAGAIN) or nothing is wanted; −1 if the connection
     *     is over and everything was received
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
            listenNowAndThen();
            StreamException failure = failure();
            boolean ended = over || shutDown;
            if (ended || failure != null) {
                // What had arrived before is in the ring by now, and comes first.
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
     * Tells whether {@link #send} would take at least one byte now, fi_sendmsg(3) with FI_PEEK.
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
        listenNowAndThen();
        requireSendable();
        return false;
    }

    /**
     * Tells whether {@link #receive} would return data or the end of the stream now, fi_recvmsg(3) with FI_PEEK. As
     * there, no data is reported while this side could not give credits back for it: while all of its send queue is
     * unacknowledged.
     *
     * @throws StreamException CONNECTION_LOST if there is no data and never will be
     * @throws IllegalStateException if the endpoint is not connected yet, or closed
     */
    public boolean peekReceive() {
        requireConnected();
        int ignored = advance(false);
        if (path.available() == 0) {
            listenNowAndThen();
            if (atEnd()) {
                return true;
            }
            throwFailure();
        }
        return path.available() > 0 && (over || path.hasControlCredit());
    }

    /** Returns how many bytes have arrived and were not received yet. */
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
            throw new IllegalStateException(this + " was shut down: nothing can be sent any more");
        }
        if (over) {
            throw new StreamException(
                    Reason.PEER_SHUT_DOWN,
                    "the peer of " + this + " ended the connection: nothing can be sent any more");
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
     * Why the connection broke, if it did. Where the peer's orderly end flushes the queue pair before its event arrives, as on iWARP,
     * nothing broke.
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

    /** Writes what was held back, takes completions and gives credits back; returns how many completions there were. */
    private int advance(boolean listen) {
        path.flush();
        int completions = path.progress();
        boolean ignored = path.pull();
        path.giveBack();
        if (listen && queue != null) {
            queue.pump();
        }
        return completions;
    }

    private void listenNowAndThen() {
        // The clock takes as long as the queue to look at. Threads that count over each other look a little later.
        if (queue != null && (++vain & VAIN_PER_LOOK - 1) == 0 && System.nanoTime() - listened > LISTEN_NANOS) {
            queue.pump();
            listened = System.nanoTime();
        }
    }

    /**
     * Waits until {@link #receive} would return something: data, or the end of the stream.
     *
     * @param timeout how long at most
     * @throws RdmaTimeoutException if nothing arrives in time
     * @throws StreamException CONNECTION_LOST if the connection broke and everything that had arrived was received
     * @throws IllegalStateException if the endpoint is not connected yet, or closed, also during the wait
     * @throws RdmaException if the thread is interrupted, whose interrupt status stays set
     */
    public void awaitReadable(Duration timeout) {
        await(true, false, timeout);
    }

    /**
     * Waits until {@link #send} would take at least one byte.
     *
     * @param timeout how long at most
     * @throws RdmaTimeoutException if there is no room in time: the peer receives nothing
     * @throws StreamException PEER_SHUT_DOWN or CONNECTION_LOST
     * @throws IllegalStateException if the endpoint is not connected yet, shut down or closed, also during the wait
     * @throws RdmaException if the thread is interrupted, whose interrupt status stays set
     */
    public void awaitWritable(Duration timeout) {
        await(false, true, timeout);
    }

    /**
     * Waits until {@link #receive} would return something, or {@link #send} would take at least one byte: for one thread that
     * does both.
     *
     * @param readable whether to wait for data, or the end of the stream
     * @param writable whether to wait for room
     * @param timeout how long at most
     * @throws RdmaTimeoutException if neither is in time
     * @throws StreamException PEER_SHUT_DOWN if only room is waited for and there will be none, CONNECTION_LOST
     * @throws IllegalStateException if the endpoint is not connected yet, or closed, also during the wait; or shut down, if
     *     only room is waited for
     * @throws IllegalArgumentException if neither is waited for
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
     * Returns a file descriptor that becomes readable when something happens to the data of this endpoint (FI_GETWAIT): that
     * of the completion channel. It may be polled, not read or closed. {@link #tryWait()} goes before each wait; the end of
     * the connection shows at {@link StreamEventQueue#fileDescriptor()}.
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
     * Gets {@link #fileDescriptor()} ready to be waited for, fi_trywait(3).
     *
     * @return true if the descriptor becomes readable when next something happens; false if something happened meanwhile, data
     *     is there to receive, or there may be room since this thread last found none to send: send or receive first
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
     * Waits until something happened, a slice at most. One thread is in poll(2), the others wait for it.
     *
     * @param came whether what is waited for has come: another thread may have met it since this one looked, and then nothing
     *     tells of it any more
     */
    private void sleep(Deadline deadline, BooleanSupplier came) {
        waitLock.lock();
        try {
            requireOpen();
            if (sleeping) {
                if (came.getAsBoolean()) {
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
            // No event announces what came before.
            if (advance(false) == 0 && !came.getAsBoolean()) {
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

    /** The event queue's lock is held. */
    private void handle(CmEvent event) {
        switch (event.type()) {
            case ESTABLISHED -> established(event);
            case REJECTED, UNREACHABLE, CONNECT_ERROR -> notConnected(event);
            case DISCONNECTED -> disconnected();
            case DEVICE_REMOVAL -> removed();
            default -> {
                // Nothing that a stream has to do with: TIMEWAIT_EXIT, ADDR_CHANGE.
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
                    "the listener refused " + this + ": " + text.substring(StreamListener.REFUSAL.length()));
        }
        try {
            CmEvent ignored = event.require(CmEvent.Type.ESTABLISHED);
            throw new IllegalStateException(event + " is no failure");
        } catch (io.rdmatest.UnexpectedCmEventException e) {
            return e;
        }
    }

    /** The peer has ended the connection, or answered this side's doing so. */
    private void disconnected() {
        if (over) {
            return;
        }
        // What arrived is in the completion queue before the event of the disconnect arrives: it becomes readable
        // first.
        path.drain();
        path.ending();
        try {
            // The answer: without it the peer asks again and again.
            disconnectQuietly();
        } finally {
            path.drain();
            over = true;
        }
        if (path.available() == 0) {
            reportShutdown();
        }
    }

    /** Nothing comes any more, and what had been sent may not have arrived. */
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
            // The device is gone; or an id is disconnected already, by both sides at once.
            boolean twice = ours != null && e.errnoName().equals("EINVAL");
            if (!twice && !Errno.isDeviceGone(e.errno())) {
                throw e;
            }
        }
    }

    // ---- ending ----

    /**
     * Ends the stream in both directions, fi_shutdown(3): waits until the peer's device has acknowledged all that was sent, in
     * the mode {@link StreamMode#SPLIT} until the peer has read what it was to read, and disconnects. The peer receives it all,
     * then the end of the stream. What had arrived here can still be received. Does nothing if the connection is over already.
     *
     * @param timeout how long to wait for the acknowledgements at most; then the connection still stands, and this can be
     *     called again
     * @throws RdmaTimeoutException if they don't come in time
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
     * Ends the connection at once, if it stands, and closes everything; does nothing the second time. Data that the peer's
     * device has not acknowledged may be lost: {@link #shutdown} first. Waits of other threads end with an
     * {@link IllegalStateException}.
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
        try (Cleanup made = new Cleanup()) {
            if (queue != null && ownsQueue) {
                made.add(queue);
            }
            if (id != null) {
                made.add(id);
            }
            made.add(path::close);
            if (id != null && queue != null) {
                StreamEventQueue events = queue;
                CmId ours = id;
                made.add(() -> events.forget(ours, event -> event.endpoint() == this));
                if (connected && !over && !shutDown) {
                    made.add(this::disconnectQuietly);
                }
            }
        }
    }

    /** Lets the thread that is in poll(2) come back before its descriptors are closed: a slice at most. */
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
