package io.rdmatest.stream;

import io.rdmatest.cm.CmId;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicBoolean;

/** Somebody wants to connect: to be accepted or rejected, once. */
public final class StreamRequest {

    private final StreamListener listener;
    private final CmId id;
    private final ConnectionData peer;
    private final AtomicBoolean answered = new AtomicBoolean();

    StreamRequest(StreamListener listener, CmId id, ConnectionData peer) {
        this.listener = listener;
        this.id = id;
        this.peer = peer;
    }

    /** Returns the address of who wants to connect. */
    public InetSocketAddress remoteAddress() {
        return id.remoteAddress();
    }

    /** Returns how many bytes the peer's receive ring has. */
    public int peerReceiveBufferBytes() {
        return peer.ringBytes();
    }

    /** Returns how many messages the peer's receive queue has. */
    public int peerReceiveQueueDepth() {
        return peer.credits();
    }

    /**
     * Accepts with the listener's options, fi_accept(3). {@link StreamEvent.Type#CONNECTED} follows.
     *
     * @return the endpoint, to be closed by the caller
     * @throws IllegalStateException if the request is answered already
     * @throws io.rdmatest.RdmaException if the peer has gone, or the device can't make the endpoint
     */
    public StreamEndpoint accept() {
        return accept(listener.options());
    }

    /**
     * Accepts, fi_accept(3). {@link StreamEvent.Type#CONNECTED} follows.
     *
     * @param options the endpoint's sizes
     * @return the endpoint, to be closed by the caller
     * @throws IllegalStateException if the request is answered already
     * @throws StreamException if the options ask for the mode {@link StreamMode#SPLIT} and the peer is in another one, or the
     *     other way round; the peer gets a message
     * @throws io.rdmatest.RdmaException if the peer has gone, or the device can't make the endpoint
     */
    public StreamEndpoint accept(StreamOptions options) {
        answer();
        try {
            peer.requireMode(options.mode());
        } catch (StreamException e) {
            StreamListener.refuse(id, "both sides need the same mode");
            throw e;
        }
        return StreamEndpoint.accept(listener.eventQueue(), id, peer, options);
    }

    /**
     * Rejects, fi_reject(3).
     *
     * @throws IllegalStateException if the request is answered already
     */
    public void reject() {
        answer();
        StreamListener.refuse(id, "the program rejected it");
    }

    private void answer() {
        if (!answered.compareAndSet(false, true)) {
            throw new IllegalStateException("the request is answered already");
        }
        listener.answered(this);
    }

    @Override
    public String toString() {
        return "request for a stream, " + id.describe();
    }
}
