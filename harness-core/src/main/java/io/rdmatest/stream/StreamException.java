package io.rdmatest.stream;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;

/** Signals that a stream can't be set up, or can't continue. */
public final class StreamException extends RdmaException {

    private static final long serialVersionUID = 1L;

    /** The kinds of failure. */
    public enum Reason {
        /** The peer has another version of the protocol. */
        VERSION_MISMATCH(Cause.REJECTED),
        /** The peer's connection data has invalid values. */
        BAD_CONNECTION_DATA(Cause.REJECTED),
        /** The peer rejected this side's connection data. */
        REFUSED(Cause.REJECTED),
        /** The device does not support it. */
        UNSUPPORTED(Cause.UNSUPPORTED),
        /** The peer ended the connection: no more data can be sent. */
        PEER_SHUT_DOWN(Cause.PEER_LOST),
        /** The connection broke: the peer stopped acknowledging, or its queue pair is gone. */
        CONNECTION_LOST(Cause.PEER_LOST),
        /** The peer violated the protocol. */
        PROTOCOL_VIOLATION(Cause.PROTOCOL_VIOLATION);

        private final Cause cause;

        Reason(Cause cause) {
            this.cause = cause;
        }
    }

    private final Reason reason;

    StreamException(Reason reason, String message) {
        super(reason.cause, message);
        this.reason = reason;
    }

    StreamException(Reason reason, String message, Throwable cause) {
        this(reason, message);
        initCause(cause);
    }

    /** Returns the kind of failure. */
    public Reason reason() {
        return reason;
    }

    /** Makes an exception for the calling thread that has this one as its cause. */
    StreamException again() {
        return new StreamException(reason, String.valueOf(getMessage()), this);
    }
}
