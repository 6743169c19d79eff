package io.rdmatest.verbs;

/**
 * How kernel drivers ({@link RdmaDevice#driver()}) differ from the specification or from adapters. Each quirk has a name and a
 * reason here. Code that depends on a quirk uses that name and does not name a driver.
 *
 * <p>The class {@code Provider} of this package has the differences between provider libraries.
 */
public final class DriverQuirks {

    /** The driver of soft-RoCE. */
    public static final String SOFT_ROCE = "rdma_rxe";

    /** The driver of software iWARP. */
    public static final String SOFT_IWARP = "siw";

    /**
     * The largest retry count that is finite on every device. IBTA volume 1, section 9.9.2.4.1, has counts from 0 to 7. Soft-RoCE
     * retries without end if the count is 7: requests to a lost peer then never complete.
     */
    public static final int LARGEST_FINITE_RETRY_COUNT = 6;

    private DriverQuirks() {}

    /**
     * Returns whether a driver is software. The active rate of its ports is not the rate of a wire, and the host's processors
     * make its packets.
     *
     * @param driver the driver's name, for example {@code mlx5_core}
     */
    public static boolean isSoftware(String driver) {
        return driver.equals(SOFT_ROCE) || driver.equals(SOFT_IWARP);
    }

    /**
     * Returns whether a busy host alone makes a driver repeat packets: if the responder gets no processor time, the requester's
     * timer expires. The counters of repetitions, duplicates and gaps then say nothing about the fabric.
     *
     * @param driver the driver's name, for example {@code mlx5_core}
     */
    public static boolean repeatsOnASlowHost(String driver) {
        return driver.equals(SOFT_ROCE);
    }

    /**
     * Returns whether requests to a lost peer never complete. Linux 6.1 to 7.3 were tried.
     *
     * @param driver the requester's driver, for example {@code mlx5_core}
     * @param retryCount the retry count of its queue pair, 0 to 7
     */
    public static boolean retriesWithoutEnd(String driver, int retryCount) {
        return retryCount > LARGEST_FINITE_RETRY_COUNT && driver.equals(SOFT_ROCE);
    }

    /**
     * Returns whether a receive has this status when the message is longer than its buffer. IBTA volume 1, section 11.6.2, has
     * LOC_LEN_ERR for this. Soft-RoCE finds that it can't copy the message, and reports LOC_QP_OP_ERR. For other drivers that status
     * has other causes, such as a queue pair in a wrong state.
     *
     * @param driver the receiver's driver, for example {@code mlx5_core}
     * @param status the status of a completed receive
     */
    public static boolean isMessageTooLong(String driver, WorkCompletion.Status status) {
        return status == WorkCompletion.Status.LOC_LEN_ERR
                || status == WorkCompletion.Status.LOC_QP_OP_ERR && driver.equals(SOFT_ROCE);
    }

    /**
     * Returns whether a send has this status when the message is longer than the peer's buffer. IBTA volume 1, section 11.6.2,
     * has REM_INV_REQ_ERR for this. A peer on soft-RoCE reports that its operation failed, which is REM_OP_ERR. This side does not
     * know the peer's driver, so its own stands for both.
     *
     * @param driver the sender's driver, for example {@code mlx5_core}
     * @param status the status of a completed send
     */
    public static boolean isPeersReceiveTooShort(String driver, WorkCompletion.Status status) {
        return status == WorkCompletion.Status.REM_INV_REQ_ERR
                || status == WorkCompletion.Status.REM_OP_ERR && driver.equals(SOFT_ROCE);
    }
}
