package io.rdmatest;

import io.rdmatest.internal.Errno;
import java.util.HexFormat;
import java.util.Optional;

/** Signals that the connection manager reported another event than the awaited one (rdma_get_cm_event(3)). */
public final class UnexpectedCmEventException extends RuntimeException implements Cause.Carrier {

    private static final long serialVersionUID = 1L;

    private final String wanted;
    private final String got;
    private final int status;
    private final byte[] privateData;

    /**
     * Creates the exception.
     *
     * @param wanted the awaited event by its C name
     * @param got the reported event by its C name
     * @param status the event's status: 0, a negative errno, or a reject reason of the transport
     * @param explanation what the status means and what to do; may be empty
     * @param privateData the peer's private data; may be empty
     */
    public UnexpectedCmEventException(String wanted, String got, int status, String explanation, byte[] privateData) {
        super("expected " + wanted + " but got " + got + ", status " + status
                + (explanation.isEmpty() ? "" : " (" + explanation + ")")
                + (privateData.length == 0
                        ? ""
                        : ", private data "
                                + HexFormat.of().formatHex(privateData, 0, Math.min(privateData.length, 32))
                                + (privateData.length > 32 ? "…" : "")));
        this.wanted = wanted;
        this.got = got;
        this.status = status;
        this.privateData = privateData.clone();
    }

    @Override
    public Cause rdmaCause() {
        return Cause.ofEvent(got, status, errnoName());
    }

    /** Returns the awaited event by its C name. */
    public String wanted() {
        return wanted;
    }

    /** Returns the reported event by its C name. */
    public String got() {
        return got;
    }

    /** Returns the event's status. */
    public int status() {
        return status;
    }

    /** Returns the status by its C name, for example {@code ETIMEDOUT}; empty if it is not an errno. */
    public String errnoName() {
        return status < 0 ? Errno.name(status) : "";
    }

    /** Returns the peer's reject reason; empty if the peer did not reject. */
    public Optional<RejectReason> rejectReason() {
        return RejectReason.of(got, status);
    }

    /** Returns the peer's private data; may be empty. */
    public byte[] privateData() {
        return privateData.clone();
    }
}
