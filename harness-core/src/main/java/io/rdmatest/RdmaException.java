package io.rdmatest;

import io.rdmatest.internal.Errno;

/**
 * Signals that a call of libibverbs, librdmacm or rsockets failed.
 *
 * <p>The message names the call with its operands and the errno with its text. For the usual causes it adds a cure.
 */
public class RdmaException extends RuntimeException implements Cause.Carrier {

    private static final long serialVersionUID = 1L;

    private final String call;
    private final int errno;
    private final Cause rdmaCause;

    /**
     * Creates the exception for a failed native call, with the usual cure for the errno.
     *
     * @param call the C function, for example {@code ibv_reg_mr}
     * @param operands the operands, readable for people; may be empty
     * @param errno the errno value, 0 when the call reports none
     */
    public RdmaException(String call, String operands, int errno) {
        this(call, operands, errno, Errno.cure(call, errno));
    }

    /**
     * Creates the exception for a failed native call, with a special cure.
     *
     * @param call the C function
     * @param operands the operands, readable for people; may be empty
     * @param errno the errno value, 0 when the call reports none
     * @param cure one sentence; may be empty
     */
    public RdmaException(String call, String operands, int errno, String cure) {
        super(call + "(" + operands + ") failed"
                + (errno == 0 ? "" : ": " + Errno.name(errno) + " (" + Errno.text(errno) + ")")
                + (cure.isEmpty() ? "" : ". " + cure));
        this.call = call;
        this.errno = errno;
        this.rdmaCause = Cause.ofErrno(call, Errno.name(errno));
    }

    /**
     * Creates the exception for a condition of this host that no errno describes: a device, library or resource is missing.
     *
     * @param message names the cause and the cure
     */
    public RdmaException(String message) {
        this(Cause.HOST_NOT_READY, message);
    }

    /**
     * Creates the exception for a condition that no errno describes.
     *
     * @param cause what went wrong
     * @param message names the cause and the cure
     */
    public RdmaException(Cause cause, String message) {
        this(cause, message, "", 0);
    }

    /**
     * Creates the exception with a message that is already complete.
     *
     * @param cause what went wrong
     * @param message the whole message
     * @param call the C function; empty when no single call failed
     * @param errno the errno value, 0 when the call reports none
     */
    public RdmaException(Cause cause, String message, String call, int errno) {
        super(message);
        this.call = call;
        this.errno = errno;
        this.rdmaCause = cause;
    }

    @Override
    public Cause rdmaCause() {
        return rdmaCause;
    }

    /** Returns the C function that failed; empty when no single call did. */
    public String call() {
        return call;
    }

    /** Returns the errno value; 0 when the call reports none. */
    public int errno() {
        return errno;
    }

    /**
     * Returns whether the device, its link layer, its driver or the kernel does not support the call, independent of
     * its operands: the errno is ENOSYS, EOPNOTSUPP or one of their kind.
     */
    public boolean isUnsupported() {
        return Errno.isUnsupported(errno);
    }

    /** Returns the errno by its C name, for example {@code ENOMEM}. */
    public String errnoName() {
        return Errno.name(errno);
    }
}
