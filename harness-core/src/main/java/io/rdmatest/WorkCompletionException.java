package io.rdmatest;

/**
 * Signals a work completion whose status is not {@code IBV_WC_SUCCESS}.
 *
 * <p>Statuses: ibv_poll_cq(3) and InfiniBand Architecture Specification volume 1, section 11.6.2.
 */
public final class WorkCompletionException extends RuntimeException implements Cause.Carrier {

    private static final long serialVersionUID = 1L;

    private final String statusName;
    private final int statusCode;
    private final int vendorError;
    private final String opcode;
    private final long wrId;
    private final int qpNumber;

    /**
     * Creates the exception.
     *
     * @param statusName the status by its C name, for example {@code IBV_WC_REM_ACCESS_ERR}
     * @param statusCode the status as a number
     * @param explanation what the status means, in words
     * @param vendorError the device's own error code, 0 when it has none
     * @param opcode the operation; only a hint, since it is undefined for a failed completion
     * @param wrId the work request's identifier
     * @param qpNumber the queue pair's number
     */
    public WorkCompletionException(
            String statusName,
            int statusCode,
            String explanation,
            int vendorError,
            String opcode,
            long wrId,
            int qpNumber) {
        super("work request " + wrId + " on QP " + qpNumber + " completed with " + statusName + " (" + statusCode + ", "
                + explanation + "), vendor error 0x" + Integer.toHexString(vendorError));
        this.statusName = statusName;
        this.statusCode = statusCode;
        this.vendorError = vendorError;
        this.opcode = opcode;
        this.wrId = wrId;
        this.qpNumber = qpNumber;
    }

    @Override
    public Cause rdmaCause() {
        return Cause.ofCompletion(statusName);
    }

    /** Returns the status by its C name. */
    public String statusName() {
        return statusName;
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
    public String opcode() {
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
