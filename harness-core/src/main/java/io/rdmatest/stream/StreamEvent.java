package io.rdmatest.stream;

import org.jspecify.annotations.Nullable;

/**
 * Something that happened to a connection.
 *
 * @param type what
 * @param listener where a request came in; null for every other event
 * @param request the request, which is to be answered; null for every other event
 * @param endpoint whose connection it is; null for requests
 * @param failure what went wrong, for an error; null for every other event
 */
public record StreamEvent(
        Type type,
        @Nullable StreamListener listener,
        @Nullable StreamRequest request,
        @Nullable StreamEndpoint endpoint,
        @Nullable RuntimeException failure) {

    /** What can happen. */
    public enum Type {
        /** Somebody wants to connect (FI_CONNREQ). */
        CONNREQ,
        /** The connection stands (FI_CONNECTED). */
        CONNECTED,
        /**
         * The connection was ended by the peer, or by this side, and everything that had arrived was received
         * (FI_SHUTDOWN).
         */
        SHUTDOWN,
        /**
         * A connection did not come about, a request was refused without asking, or a connection broke because its device was
         * removed (fi_eq_readerr(3)).
         */
        ERROR
    }

    static StreamEvent of(Type type, StreamEndpoint endpoint) {
        return new StreamEvent(type, null, null, endpoint, null);
    }

    static StreamEvent error(StreamEndpoint endpoint, RuntimeException failure) {
        return new StreamEvent(Type.ERROR, null, null, endpoint, failure);
    }

    static StreamEvent request(StreamListener listener, StreamRequest request) {
        return new StreamEvent(Type.CONNREQ, listener, request, null, null);
    }

    static StreamEvent refused(StreamListener listener, StreamException failure) {
        return new StreamEvent(Type.ERROR, listener, null, null, failure);
    }
}
