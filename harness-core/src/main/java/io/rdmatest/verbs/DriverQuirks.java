package io.rdmatest.verbs;

import io.rdmatest.WorkCompletionException;
import java.util.Arrays;
import java.util.Set;

/**
 * What differs by the kernel's driver ({@link RdmaDevice#driver()}) from what the specification says or what adapters do. Each
 * quirk has a name and a reason here, so that code that decides by one does not name a driver.
 *
 * <p>{@code Provider} of this package has what differs by the provider library.
 */
public final class DriverQuirks {

    /** The driver of soft-RoCE. */
    public static final String SOFT_ROCE = "rdma_rxe";

    /** The driver of software iWARP. */
    public static final String SOFT_IWARP = "siw";

    /**
     * The largest retry count that ends on every device. IBTA volume 1, section 9.9.2.4.1, has counts from 0 to 7. Soft-RoCE takes
     * 7 for without end: requests to a lost peer then never complete.
     */
    public static final int LARGEST_FINITE_RETRY_COUNT = 6;

    /** They report an active rate that no wire has, and their packets are made by the processors of the host. */
    private static final Set<String> SOFTWARE = Set.of(SOFT_ROCE, SOFT_IWARP);

    /**
     * A responder that gets no processor time lets the requester's timer run out. The requester repeats what is then a duplicate or
     * out of sequence.
     */
    private static final Set<String> REPEATS_ON_A_SLOW_HOST = Set.of(SOFT_ROCE);

    private DriverQuirks() {}

    /**
     * Returns whether a driver is software. The active rate of its ports is not that of a wire.
     *
     * @param driver the driver's name, for example {@code mlx5_core}
     */
    public static boolean isSoftware(String driver) {
        return SOFTWARE.contains(driver);
    }

    /**
     * Returns whether a busy host alone makes a driver repeat packets. The counters of repetitions then say nothing about the fabric.
     *
     * @param driver the driver's name, for example {@code mlx5_core}
     */
    public static boolean repeatsOnASlowHost(String driver) {
        return REPEATS_ON_A_SLOW_HOST.contains(driver);
    }

    /**
     * Returns whether a receive has this status when the message is longer than its buffer. LOC_LEN_ERR is the status of IBTA volume
     * 1, section 11.6.2. Soft-RoCE finds that it can't copy the message, and reports LOC_QP_OP_ERR.
     *
     * @param status the status of a completed receive
     */
    public static boolean isMessageTooLong(WorkCompletion.Status status) {
        return status == WorkCompletion.Status.LOC_LEN_ERR || status == WorkCompletion.Status.LOC_QP_OP_ERR;
    }

    /**
     * Returns whether a receive failed because the message is longer than its buffer.
     *
     * @param failure the failure of a receive
     */
    public static boolean isMessageTooLong(WorkCompletionException failure) {
        return Arrays.stream(WorkCompletion.Status.values())
                .anyMatch(status -> isMessageTooLong(status) && status.ibvName().equals(failure.statusName()));
    }

    /**
     * Returns whether a send has this status when the message is longer than the peer's buffer. REM_INV_REQ_ERR is the status of IBTA
     * volume 1, section 11.6.2. A peer on soft-RoCE reports that its operation failed, which is REM_OP_ERR.
     *
     * @param status the status of a completed send
     */
    public static boolean isPeersReceiveTooShort(WorkCompletion.Status status) {
        return status == WorkCompletion.Status.REM_INV_REQ_ERR || status == WorkCompletion.Status.REM_OP_ERR;
    }
}
