package io.rdmatest.stream;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;

/** Signals that a stream can't be set up, or can't go on. */
public final class StreamException extends RdmaException {

    private static final long serialVersionUID = 1L;

    /** What happened. */
    public enum Reason {
        /** The peer speaks another version of the protocol. */
        VERSION_MISMATCH(Cause.REJECTED),
        /** The peer's connection data has values that no stream can work with. */
        BAD_CONNECTION_DATA(Cause.REJECTED),
        /** The peer did not take this side's connection data. */
        REFUSED(Cause.REJECTED),
        /** The device can't do it. */
        UNSUPPORTED(Cause.UNSUPPORTED),
        /** The peer ended the connection, so that nothing more can be sent. */
        PEER_SHUT_DOWN(Cause.PEER_LOST),
        /** The connection broke: the peer does not acknowledge any more, or its queue pair is gone. */
        CONNECTION_LOST(Cause.PEER_LOST),
        /** The peer sent what the protocol does not allow. */
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

    /** Returns what happened. */
    public Reason reason() {
        return reason;
    }

    /** Makes an exception for the calling thread that has this one as its cause. */
    StreamException again() {
        return new StreamException(reason, String.valueOf(getMessage()), this);
    }
}
