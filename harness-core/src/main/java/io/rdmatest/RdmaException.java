package io.rdmatest;

import io.rdmatest.internal.Errno;

/**
 * Signals that a call of libibverbs, librdmacm or rsockets failed.
 *
 * <p>The message names the call with its operands, the errno by name and text, and, for the usual causes, what to do
 * about it.
 */
public class RdmaException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final String call;
    private final int errno;

    /**
     * Creates the exception for a failed native call; the usual cure for the errno is appended.
     *
     * @param call the C function, for example {@code ibv_reg_mr}
     * @param operands the operands as a person would name them; may be empty
     * @param errno the errno value, 0 when the call reports none
     */
    public RdmaException(String call, String operands, int errno) {
        this(call, operands, errno, Errno.cure(call, errno));
    }

    /**
     * Creates the exception for a failed native call with a cure of its own.
     *
     * @param call the C function
     * @param operands the operands as a person would name them; may be empty
     * @param errno the errno value, 0 when the call reports none
     * @param cure one sentence that says what to do; may be empty
     */
    public RdmaException(String call, String operands, int errno, String cure) {
        super(call + "(" + operands + ") failed"
                + (errno == 0 ? "" : ": " + Errno.name(errno) + " (" + Errno.text(errno) + ")")
                + (cure.isEmpty() ? "" : ". " + cure));
        this.call = call;
        this.errno = errno;
    }

    /**
     * Creates the exception for a condition that no errno describes.
     *
     * @param message names the cause and the cure
     */
    public RdmaException(String message) {
        super(message);
        this.call = "";
        this.errno = 0;
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
     * Tells whether the device, its link layer, driver or the kernel can't do what was asked, whatever the operands: an
     * errno that says "not supported", from ENOSYS to EAFNOSUPPORT.
     */
    public boolean isUnsupported() {
        return Errno.isUnsupported(errno);
    }

    /** Returns the errno by its C name, for example {@code ENOMEM}. */
    public String errnoName() {
        return Errno.name(errno);
    }
}
