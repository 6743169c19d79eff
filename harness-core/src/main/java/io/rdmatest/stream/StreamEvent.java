package io.rdmatest.stream;

import org.jspecify.annotations.Nullable;

/**
 * An event of a connection.
 *
 * @param type the type of event
 * @param listener the listener that received a request; null for other events
 * @param request the request, which must be answered; null for other events
 * @param endpoint the endpoint of the connection; null for requests
 * @param failure the failure of an error; null for other events
 */
public record StreamEvent(
        Type type,
        @Nullable StreamListener listener,
        @Nullable StreamRequest request,
        @Nullable StreamEndpoint endpoint,
        @Nullable RuntimeException failure) {

    /** The types of events. */
    public enum Type {
        /** A connection request (FI_CONNREQ). */
        CONNREQ,
        /** The connection is established (FI_CONNECTED). */
        CONNECTED,
        /**
         * The peer or this side ended the connection, and all data was received (FI_SHUTDOWN).
         */
        SHUTDOWN,
        /**
         * A connection failed, a listener rejected an invalid request, or a device was removed (fi_eq_readerr(3)).
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
