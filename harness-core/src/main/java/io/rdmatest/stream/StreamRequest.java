package io.rdmatest.stream;

import io.rdmatest.cm.CmId;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicBoolean;

/** A connection request. It must be accepted or rejected, once. */
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

    /** Returns the address of the requesting side. */
    public InetSocketAddress remoteAddress() {
        return id.remoteAddress();
    }

    /** Returns the size of the peer's receive ring in bytes. */
    public int peerReceiveBufferBytes() {
        return peer.ringBytes();
    }

    /** Returns the size of the peer's receive queue in messages. */
    public int peerReceiveQueueDepth() {
        return peer.credits();
    }

    /**
     * Accepts with the listener's options, fi_accept(3). {@link StreamEvent.Type#CONNECTED} follows.
     *
     * @return the endpoint; the caller must close it
     * @throws IllegalStateException if the request is already answered
     * @throws io.rdmatest.RdmaException if the peer is gone, or the device can't create the endpoint
     */
    public StreamEndpoint accept() {
        return accept(listener.options());
    }

    /**
     * Accepts, fi_accept(3). {@link StreamEvent.Type#CONNECTED} follows.
     *
     * @param options the endpoint's sizes
     * @return the endpoint; the caller must close it
     * @throws IllegalStateException if the request is already answered
     * @throws StreamException if only one side is in {@link StreamMode#SPLIT} mode; the peer gets the reason
     * @throws io.rdmatest.RdmaException if the peer is gone, or the device can't create the endpoint
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
     * @throws IllegalStateException if the request is already answered
     */
    public void reject() {
        answer();
        StreamListener.refuse(id, "the program rejected the request");
    }

    private void answer() {
        if (!answered.compareAndSet(false, true)) {
            throw new IllegalStateException("the request is already answered");
        }
        listener.answered(this);
    }

    @Override
    public String toString() {
        return "request for a stream, " + id.describe();
    }
}
