package io.rdmatest;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * What went wrong. The code that first understands a failure sets its cause. The exception carries the cause, also from another
 * node. Every verdict follows from the cause.
 *
 * <p>Each cause has a verdict, an exit status of {@code ./rdmatest} and a category of the report. The cause also decides whether
 * a measurement that failed this way may be repeated. Names are stable: reports and scripts may rely on them.
 */
public enum Cause {

    // ---- completion statuses, ibv_poll_cq(3) and IBTA volume 1, section 11.6.2 ----

    /** {@code IBV_WC_RETRY_EXC_ERR}. */
    RETRY_EXCEEDED(
            "IBV_WC_RETRY_EXC_ERR", ExitStatus.PEER_LOST, Again.YES, "Peer did not acknowledge: retries exhausted"),

    /** {@code IBV_WC_RNR_RETRY_EXC_ERR}. */
    RNR_RETRY_EXCEEDED(
            "IBV_WC_RNR_RETRY_EXC_ERR",
            ExitStatus.FABRIC_FAILED,
            Again.YES,
            "Peer had no receive posted: RNR retries exhausted"),

    /** {@code IBV_WC_RESP_TIMEOUT_ERR}. */
    RESPONSE_TIMEOUT("IBV_WC_RESP_TIMEOUT_ERR", ExitStatus.PEER_LOST, Again.YES, "Peer's response timed out"),

    /** {@code IBV_WC_WR_FLUSH_ERR}. */
    FLUSHED(
            "IBV_WC_WR_FLUSH_ERR",
            ExitStatus.PEER_LOST,
            Again.YES,
            "Work flushed: the queue pair had gone to the error state"),

    /** {@code IBV_WC_REM_ACCESS_ERR}. */
    REMOTE_ACCESS(
            "IBV_WC_REM_ACCESS_ERR",
            ExitStatus.FABRIC_FAILED,
            "Peer's memory not accessible: key, bounds or permission"),

    /** {@code IBV_WC_REM_INV_REQ_ERR}. */
    REMOTE_INVALID_REQUEST("IBV_WC_REM_INV_REQ_ERR", ExitStatus.FABRIC_FAILED, "Peer rejected the request as invalid"),

    /** {@code IBV_WC_REM_OP_ERR}. */
    REMOTE_OPERATION("IBV_WC_REM_OP_ERR", ExitStatus.FABRIC_FAILED, "Peer could not complete the operation"),

    /** {@code IBV_WC_REM_INV_RD_REQ_ERR}. */
    REMOTE_INVALID_RD_REQUEST(
            "IBV_WC_REM_INV_RD_REQ_ERR", ExitStatus.FABRIC_FAILED, "Peer rejected the reliable datagram"),

    /** {@code IBV_WC_REM_ABORT_ERR}. */
    REMOTE_ABORT("IBV_WC_REM_ABORT_ERR", ExitStatus.FABRIC_FAILED, "Peer aborted the operation"),

    /** {@code IBV_WC_BAD_RESP_ERR}. */
    BAD_RESPONSE("IBV_WC_BAD_RESP_ERR", ExitStatus.FABRIC_FAILED, "Peer answered with an unexpected packet"),

    /** {@code IBV_WC_LOC_LEN_ERR}. */
    LOCAL_LENGTH("IBV_WC_LOC_LEN_ERR", ExitStatus.FABRIC_FAILED, "Message longer than the buffer or the path allows"),

    /** {@code IBV_WC_LOC_QP_OP_ERR}. */
    LOCAL_QP_OPERATION(
            "IBV_WC_LOC_QP_OP_ERR", ExitStatus.FABRIC_FAILED, "Local queue pair in a wrong state for the operation"),

    /** {@code IBV_WC_LOC_EEC_OP_ERR}. */
    LOCAL_EEC_OPERATION("IBV_WC_LOC_EEC_OP_ERR", ExitStatus.FABRIC_FAILED, "Local end-to-end context error"),

    /** {@code IBV_WC_LOC_PROT_ERR}. */
    LOCAL_PROTECTION("IBV_WC_LOC_PROT_ERR", ExitStatus.FABRIC_FAILED, "Local buffer not covered by its memory region"),

    /** {@code IBV_WC_LOC_ACCESS_ERR}. */
    LOCAL_ACCESS("IBV_WC_LOC_ACCESS_ERR", ExitStatus.FABRIC_FAILED, "Local protection error on incoming data"),

    /** {@code IBV_WC_LOC_RDD_VIOL_ERR}. */
    LOCAL_RDD_VIOLATION("IBV_WC_LOC_RDD_VIOL_ERR", ExitStatus.FABRIC_FAILED, "Local reliable datagram domain violated"),

    /** {@code IBV_WC_MW_BIND_ERR}. */
    MEMORY_WINDOW_BIND("IBV_WC_MW_BIND_ERR", ExitStatus.FABRIC_FAILED, "Memory window could not be bound"),

    /** {@code IBV_WC_INV_EECN_ERR}. */
    INVALID_EEC_NUMBER("IBV_WC_INV_EECN_ERR", ExitStatus.FABRIC_FAILED, "Invalid end-to-end context number"),

    /** {@code IBV_WC_INV_EEC_STATE_ERR}. */
    INVALID_EEC_STATE("IBV_WC_INV_EEC_STATE_ERR", ExitStatus.FABRIC_FAILED, "Invalid end-to-end context state"),

    /** {@code IBV_WC_FATAL_ERR}. */
    FATAL_TRANSPORT_ERROR("IBV_WC_FATAL_ERR", ExitStatus.FABRIC_FAILED, "Fatal transport error"),

    /** {@code IBV_WC_GENERAL_ERR}. */
    GENERAL_TRANSPORT_ERROR("IBV_WC_GENERAL_ERR", ExitStatus.FABRIC_FAILED, "Transport error without further class"),

    /** {@code IBV_WC_TM_ERR}. */
    TAG_MATCHING("IBV_WC_TM_ERR", ExitStatus.FABRIC_FAILED, "Tag matching error"),

    /** {@code IBV_WC_TM_RNDV_INCOMPLETE}. */
    TAG_MATCHING_INCOMPLETE(
            "IBV_WC_TM_RNDV_INCOMPLETE", ExitStatus.FABRIC_FAILED, "Tag matching rendezvous incomplete"),

    /** Any other status that is not {@code IBV_WC_SUCCESS}. */
    COMPLETION_ERROR(Verdict.FAILED, ExitStatus.FABRIC_FAILED, "Completion with another error status"),

    // ---- the connection manager, rdma_get_cm_event(3) ----

    /** The peer's program or its connection manager rejected the connection. */
    REJECTED(Verdict.FAILED, ExitStatus.REJECTED, "Connection rejected by the peer"),

    /** The peer's connection manager did not answer. */
    UNREACHABLE(Verdict.FAILED, ExitStatus.PEER_ABSENT, Again.YES, "Peer's connection manager did not answer"),

    /** No listener, no client, or no answer before data flowed. */
    PEER_ABSENT(Verdict.FAILED, ExitStatus.PEER_ABSENT, Again.YES, "Peer absent: no listener, no client or no answer"),

    /** The peer disconnected, or stopped answering, after the connection was established. */
    PEER_LOST(Verdict.FAILED, ExitStatus.PEER_LOST, Again.YES, "Peer lost in mid-transfer"),

    /** The address has no route over an RDMA device. */
    NO_ROUTE(Verdict.FAILED, ExitStatus.NO_ROUTE, Again.YES, "No route to the address over an RDMA device"),

    /** The connection failed while it was being established. */
    CONNECT_ERROR(Verdict.FAILED, ExitStatus.FABRIC_FAILED, "Connection could not be established"),

    /** The network refused a multicast group. */
    MULTICAST_ERROR(Verdict.FAILED, ExitStatus.FABRIC_FAILED, "Multicast group could not be joined"),

    /** The connection manager reported another event than the awaited one, and no other cause fits it. */
    UNEXPECTED_EVENT(Verdict.FAILED, ExitStatus.FABRIC_FAILED, "Unexpected connection manager event"),

    /** The message is too large for the peer or the MTU. */
    SIZE_REFUSED(Verdict.FAILED, ExitStatus.SIZE_REFUSED, "Message too large for the peer or the MTU"),

    /** A connection is on another device, port or GID than the one under test. */
    WRONG_DEVICE(Verdict.FAILED, ExitStatus.NO_ROUTE, "Connection on another device than the one under test"),

    // ---- other promises of the fabric ----

    /** The received data differs from the sent data. */
    WRONG_DATA(Verdict.FAILED, ExitStatus.FABRIC_FAILED, "Data differs from what was sent"),

    /** Messages were lost, repeated or out of order. */
    WRONG_DELIVERY(Verdict.FAILED, ExitStatus.FABRIC_FAILED, "Messages lost, repeated or out of order"),

    /** An awaited event of the fabric did not happen before its deadline. */
    TIMEOUT(Verdict.FAILED, ExitStatus.PEER_LOST, Again.YES, "Timed out"),

    /** Packets on the wire, or messages of a peer, violate their protocol. */
    PROTOCOL_VIOLATION(Verdict.FAILED, ExitStatus.FABRIC_FAILED, "Protocol violated"),

    /** The device reported an asynchronous error, or moved a queue pair to ERR without a completion that says why. */
    ASYNCHRONOUS_ERROR(
            Verdict.FAILED, ExitStatus.FABRIC_FAILED, "Asynchronous error of the device (ibv_get_async_event)"),

    /** Error counters of a device increased. */
    COUNTERS(Verdict.FAILED, ExitStatus.FABRIC_FAILED, Again.YES, "Error counters increased"),

    /** A measurement misses a threshold of the fabric file. */
    THRESHOLD_MISSED(Verdict.FAILED, ExitStatus.FABRIC_FAILED, "Threshold missed"),

    /** The fabric does not keep a promise of the fabric file. */
    PROMISE_BROKEN(Verdict.FAILED, ExitStatus.FABRIC_FAILED, "Promise of the fabric file broken"),

    /** One path is far slower than the others. */
    OUTLIER(Verdict.FAILED, ExitStatus.FABRIC_FAILED, Again.YES, "Slower than the other pairs"),

    /** A node failed with one partner after the other, so that its other pairs were not measured. */
    GIVEN_UP(Verdict.FAILED, ExitStatus.FABRIC_FAILED, "Node given up: its pairs failed one after the other"),

    /** An assertion failed without a more specific cause. */
    ASSERTION(Verdict.FAILED, ExitStatus.FABRIC_FAILED, "Other broken promise of the fabric"),

    // ---- the host ----

    /** A device, library, kernel module or another resource of this host is missing. */
    HOST_NOT_READY(
            Verdict.BROKEN,
            ExitStatus.HOST_NOT_READY,
            Again.YES,
            "Host not ready: device, library or resource missing"),

    /** A host was too busy to measure: its own delay explains what was seen. */
    HOST_BUSY(Verdict.BROKEN, ExitStatus.HOST_NOT_READY, Again.YES, "Host was busy: its own delay explains the result"),

    /** The attempts of a measurement showed something else each time, and no delay of a host explains it. */
    ATTEMPTS_DISAGREE(Verdict.BROKEN, ExitStatus.HOST_NOT_READY, "Attempts disagree: each one showed something else"),

    /** There is not enough memory, lockable memory, or threads. */
    OUT_OF_MEMORY(
            Verdict.BROKEN, ExitStatus.HOST_NOT_READY, Again.YES, "Host has too little memory or too few threads"),

    /** This process lacks a permission. */
    NOT_PERMITTED(Verdict.BROKEN, ExitStatus.HOST_NOT_READY, "Not permitted to this process"),

    /** The device was removed from the host. */
    DEVICE_REMOVED(Verdict.BROKEN, ExitStatus.HOST_NOT_READY, "Device removed from the host"),

    /** A call of libibverbs, librdmacm or rsockets failed with an errno that no other cause fits. */
    CALL_FAILED(Verdict.BROKEN, ExitStatus.HOST_NOT_READY, "Call of the RDMA libraries failed"),

    /** The agent of a node did not start, ended early, or stopped answering. */
    NODE_LOST(Verdict.BROKEN, ExitStatus.HOST_NOT_READY, Again.YES, "Node not reached, or its agent lost"),

    /** No address is known for a host name. */
    UNKNOWN_HOST(Verdict.BROKEN, ExitStatus.NO_ROUTE, "Unknown host name"),

    /** The device, its driver, the kernel or the peer cannot do what was asked. */
    UNSUPPORTED(Verdict.BROKEN, ExitStatus.UNSUPPORTED, "Not supported by the device, the kernel or the peer"),

    // ---- the caller ----

    /** An option, annotation, configuration key or file is wrong. */
    MISCONFIGURED(Verdict.BROKEN, ExitStatus.USAGE, "Wrong option, annotation, key or file"),

    /** The test or program used queues or memory in a way that cannot succeed, whatever the fabric does. */
    WRONG_USE(Verdict.BROKEN, ExitStatus.DEFECT, "Queues or memory used wrongly by the test"),

    /** The test's own code left native objects, events or kernel objects behind. */
    LEAK(Verdict.BROKEN, ExitStatus.DEFECT, "Leaked resources"),

    /** A test or lifecycle method did not finish within its time limit. */
    TIME_LIMIT(Verdict.BROKEN, ExitStatus.DEFECT, "Time limit of the test exceeded"),

    /** A test started and never finished. */
    NEVER_FINISHED(Verdict.BROKEN, ExitStatus.DEFECT, "Never finished: JVM or virtual machine ended"),

    /** A signal, or the failure of the other side, ended the work. */
    INTERRUPTED(Verdict.BROKEN, ExitStatus.INTERRUPTED, Again.YES, "Interrupted"),

    /** No other cause explains the failure. */
    DEFECT(Verdict.BROKEN, ExitStatus.DEFECT, "Unexpected exception: a defect of rdmatest or of the test"),

    /** A condition says that the test does not apply here. */
    NOT_APPLICABLE(Verdict.SKIPPED, ExitStatus.UNSUPPORTED, "Skipped");

    /** What a failure means: the fabric is bad, nothing is known about it, or the test does not apply. */
    public enum Verdict {
        /** The fabric broke a promise. */
        FAILED,
        /** The harness, the host or the test is broken. The result says nothing about the fabric. */
        BROKEN,
        /** The test does not apply here. */
        SKIPPED;

        /** Returns the name in lower case, as reports print it. */
        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** An exception that knows its cause. */
    public interface Carrier {

        /** Returns what went wrong; never null. */
        Cause rdmaCause();
    }

    private enum Again {
        YES,
        NO
    }

    private static final int DEEPEST = 32;

    private final Verdict verdict;
    private final ExitStatus exitStatus;
    private final Again again;
    private final String sentence;

    /** The C name of the completion status; empty for any other cause. */
    private final String completionStatus;

    Cause(Verdict verdict, ExitStatus exitStatus, String sentence) {
        this(verdict, exitStatus, Again.NO, sentence);
    }

    Cause(Verdict verdict, ExitStatus exitStatus, Again again, String sentence) {
        this(verdict, exitStatus, again, sentence, "");
    }

    Cause(String completionStatus, ExitStatus exitStatus, String sentence) {
        this(completionStatus, exitStatus, Again.NO, sentence);
    }

    Cause(String completionStatus, ExitStatus exitStatus, Again again, String sentence) {
        this(Verdict.FAILED, exitStatus, again, sentence, completionStatus);
    }

    Cause(Verdict verdict, ExitStatus exitStatus, Again again, String sentence, String completionStatus) {
        this.verdict = verdict;
        this.exitStatus = exitStatus;
        this.again = again;
        this.sentence = sentence;
        this.completionStatus = completionStatus;
    }

    /** Returns whether a test that ends with this cause is failed, broken or skipped. */
    public Verdict verdict() {
        return verdict;
    }

    /** Returns the exit status of a command of {@code ./rdmatest} that ends with this cause, 1 to 255. */
    public ExitStatus exitStatus() {
        return exitStatus;
    }

    /** Returns the category of the report: a phrase, different for each cause. */
    public String category() {
        return sentence + (isCompletion() ? " (" + completionStatus + ")" : "");
    }

    /** Returns what went wrong, as a clause of a longer message: it begins with a small letter. */
    public String clause() {
        return Character.toLowerCase(sentence.charAt(0)) + sentence.substring(1);
    }

    /** Returns whether a completion status has this cause; false for {@link #COMPLETION_ERROR}. */
    public boolean isCompletion() {
        return !completionStatus.isEmpty();
    }

    /** Returns the likely reason, and what to check, as a clause; empty if {@link #clause} says all. */
    public String hint() {
        return switch (this) {
            case RETRY_EXCEEDED, RESPONSE_TIMEOUT ->
                "the peer stopped acknowledging: its process or host died, or the path broke";
            case RNR_RETRY_EXCEEDED -> "the peer posted no receive in time";
            case FLUSHED ->
                "the queue pair went to the error state before this request's turn; an earlier failure, a disconnect or"
                        + " this side itself is the cause";
            case REMOTE_ACCESS ->
                "the peer refuses the access: the rkey, the address range or the access flags are not those of a memory"
                        + " region of its queue pair's protection domain";
            case LOCAL_PROTECTION ->
                "the lkey or the range is not that of a memory region of the queue pair's protection domain";
            case LOCAL_LENGTH -> "a message is longer than the receive that was posted for it";
            case LOCAL_QP_OPERATION ->
                "the queue pair could not carry out the request; on soft-RoCE, a receive that is too short or whose"
                        + " memory lacks LOCAL_WRITE";
            case REMOTE_OPERATION -> "the peer could not take the message: look at the completion of its receive";
            case REMOTE_INVALID_REQUEST ->
                "the peer refuses the request: its receive is too short, or its queue pair does not allow the operation";
            case REJECTED ->
                "the peer rejected the connection: the status says why; its program may accept no further one, or"
                        + " expect other options";
            case UNREACHABLE ->
                "the peer's connection manager did not answer: check that the host is up and that its address is on an"
                        + " RDMA device";
            case PEER_ABSENT ->
                "nobody listens, connects or answers: start the server first, then the client, and check the peer's"
                        + " host, address, port and port space";
            case PEER_LOST -> "the peer disconnected or stopped answering before the work was done";
            case TIMEOUT -> "the peer stopped answering";
            default -> "";
        };
    }

    /**
     * Returns whether a measurement that ended with this cause may be repeated before it is judged. A failure of the
     * fabric counts at once, unless a host that stalls looks the same: an outlier, counters of repeated packets, a peer or a
     * route that was not found in time, and a peer that no longer answers.
     */
    public boolean mayBeRetried() {
        return again == Again.YES;
    }

    /** Returns the cause with this name; empty if there is none. */
    public static Optional<Cause> named(@Nullable String name) {
        return Arrays.stream(values())
                .filter(cause -> cause.name().equals(name))
                .findFirst();
    }

    /**
     * Finds the cause of a failure.
     *
     * <p>The outermost exception of the chain that knows its cause decides. An assertion error always means that the fabric
     * failed: causes with another verdict below it do not count. A wait that gave up before its limit is a {@link #DEFECT} wherever
     * it is in the chain, because the rest was concluded from it.
     *
     * @param failure any throwable
     * @return the cause; {@link #ASSERTION} or {@link #DEFECT} if no exception in the chain knows it
     */
    public static Cause of(Throwable failure) {
        Cause found = null;
        boolean asserted = false;
        Throwable current = failure;
        for (int depth = 0; current != null && depth < DEEPEST; depth++) {
            Cause known = known(current);
            if (current instanceof RdmaTimeoutException && known == DEFECT) {
                return DEFECT;
            }
            if (found == null && known != null) {
                found = asserted && known.verdict != Verdict.FAILED ? ASSERTION : known;
            }
            asserted |= current instanceof AssertionError;
            current = current.getCause();
        }
        if (found != null) {
            return found;
        }
        return asserted ? ASSERTION : DEFECT;
    }

    private static @Nullable Cause known(Throwable failure) {
        return switch (failure) {
            case Carrier carrier -> carrier.rdmaCause();
            case OutOfMemoryError e -> OUT_OF_MEMORY;
            case InterruptedException e -> INTERRUPTED;
            case TimeoutException e -> TIME_LIMIT;
            default -> null;
        };
    }

    /**
     * Finds the cause that an errno of a native call means.
     *
     * @param call the C function; empty if unknown
     * @param errnoName the errno by its C name, for example {@code ENOMEM}
     * @return the cause; {@link #CALL_FAILED} for any other errno
     */
    static Cause ofErrno(String call, String errnoName) {
        if (call.equals("rdma_getaddrinfo")) {
            return UNKNOWN_HOST;
        }
        return switch (errnoName) {
            case "ENOSYS", "EOPNOTSUPP", "ENOTSUPP", "EPROTONOSUPPORT", "EAFNOSUPPORT", "ENOPROTOOPT" -> UNSUPPORTED;
            case "ENETUNREACH", "EHOSTUNREACH", "ENETDOWN", "EADDRNOTAVAIL" -> NO_ROUTE;
            case "ENODEV" -> call.startsWith("ibv_") ? DEVICE_REMOVED : NO_ROUTE;
            case "ENXIO", "EIO" -> DEVICE_REMOVED;
            case "ECONNREFUSED" -> PEER_ABSENT;
            case "ETIMEDOUT" -> call.equals("rconnect") || call.equals("rdma_resolve_addr") ? PEER_ABSENT : PEER_LOST;
            case "ECONNRESET", "EPIPE", "ECONNABORTED", "ENOTCONN" -> PEER_LOST;
            case "EMSGSIZE" -> SIZE_REFUSED;
            case "ENOMEM" -> OUT_OF_MEMORY;
            case "EPERM", "EACCES" -> NOT_PERMITTED;
            case "ENOENT", "EMFILE", "ENFILE", "ENOSPC", "ENOBUFS", "EADDRINUSE", "EAGAIN" -> HOST_NOT_READY;
            default -> CALL_FAILED;
        };
    }

    /**
     * Finds the cause that an event of rdma_get_cm_event(3) means.
     *
     * @param got the event by its C name
     * @param status its status
     * @param errnoName the status by its C name if it is an errno; else empty
     */
    static Cause ofEvent(String got, int status, String errnoName) {
        RejectReason reason = RejectReason.of(got, status).orElse(null);
        if (reason != null) {
            if (reason.nobodyListens()) {
                return PEER_ABSENT;
            }
            return reason == RejectReason.UNSUPPORTED_REQUEST || reason == RejectReason.INVALID_CLASS_VERSION
                    ? UNSUPPORTED
                    : REJECTED;
        }
        return switch (got) {
            case "RDMA_CM_EVENT_UNREACHABLE" -> UNREACHABLE;
            case "RDMA_CM_EVENT_ADDR_ERROR" -> errnoName.equals("ETIMEDOUT") ? PEER_ABSENT : NO_ROUTE;
            case "RDMA_CM_EVENT_ROUTE_ERROR" -> NO_ROUTE;
            case "RDMA_CM_EVENT_CONNECT_ERROR" -> CONNECT_ERROR;
            // ENOMEM: the device cannot attach another queue pair. Otherwise the network refused the group.
            case "RDMA_CM_EVENT_MULTICAST_ERROR" -> errnoName.equals("ENOMEM") ? UNSUPPORTED : MULTICAST_ERROR;
            case "RDMA_CM_EVENT_DEVICE_REMOVAL" -> DEVICE_REMOVED;
            case "RDMA_CM_EVENT_DISCONNECTED" -> PEER_LOST;
            default -> UNEXPECTED_EVENT;
        };
    }
}
