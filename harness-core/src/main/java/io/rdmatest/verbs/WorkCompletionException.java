package io.rdmatest.verbs;

import io.rdmatest.Cause;

/**
 * Signals a work completion whose status is not {@code IBV_WC_SUCCESS}.
 *
 * <p>Statuses: ibv_poll_cq(3) and InfiniBand Architecture Specification volume 1, section 11.6.2.
 */
public final class WorkCompletionException extends RuntimeException implements Cause.Carrier {

    private static final long serialVersionUID = 1L;

    private final WorkCompletion.Status status;
    private final int statusCode;
    private final int vendorError;
    private final WorkCompletion.Opcode opcode;
    private final long wrId;
    private final int qpNumber;

    /**
     * Creates the exception.
     *
     * @param status the status
     * @param statusCode the status as a number, also where {@code status} is unknown
     * @param vendorError the device's own error code, 0 when it has none
     * @param opcode the operation; only a hint, since it is undefined for a failed completion
     * @param wrId the work request's identifier
     * @param qpNumber the queue pair's number
     * @throws IllegalStateException if the status is a success
     */
    public WorkCompletionException(
            WorkCompletion.Status status,
            int statusCode,
            int vendorError,
            WorkCompletion.Opcode opcode,
            long wrId,
            int qpNumber) {
        super("work request " + wrId + " on QP " + qpNumber + " completed with " + status.ibvName() + " (" + statusCode
                + ", " + status.cause().clause() + "), vendor error 0x" + Integer.toHexString(vendorError));
        this.status = status;
        this.statusCode = statusCode;
        this.vendorError = vendorError;
        this.opcode = opcode;
        this.wrId = wrId;
        this.qpNumber = qpNumber;
    }

    @Override
    public Cause rdmaCause() {
        return status.cause();
    }

    /** Returns the status. */
    public WorkCompletion.Status status() {
        return status;
    }

    /** Returns the status as a number. */
    public int statusCode() {
        return statusCode;
    }

    /** Returns the device's own error code; 0 when it has none. */
    public int vendorError() {
        return vendorError;
    }

    /** Returns the operation; only a hint, since it is undefined for a failed completion. */
    public WorkCompletion.Opcode opcode() {
        return opcode;
    }

    /** Returns the work request's identifier. */
    public long wrId() {
        return wrId;
    }

    /** Returns the queue pair's number. */
    public int qpNumber() {
        return qpNumber;
    }
}
