package io.rdmatest.scenarios.cli;

import io.rdmatest.NativeLibraryException;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.WorkCompletionException;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.scenarios.role.RoleCancelledException;
import io.rdmatest.scenarios.role.ScenarioException;

/** Says what a failure means: an exit status, and one sentence. */
final class Verdicts {

    /** Reject reason of the InfiniBand CM: nobody listens at the service id (IBTA volume 1, table 118). */
    private static final int INVALID_SERVICE_ID = 8;

    /**
     * A verdict.
     *
     * @param status how the command ended
     * @param message one sentence that names cause and cure
     * @param defect whether nothing explains the failure, so that its stack trace is needed
     */
    record Verdict(ExitStatus status, String message, boolean defect) {
        Verdict(ExitStatus status, String message) {
            this(status, message, false);
        }
    }

    private Verdicts() {}

    /** Judges a failure. */
    static Verdict of(Throwable failure) {
        return switch (failure) {
            case ScenarioException e ->
                new Verdict(ExitStatus.valueOf(e.reason().name()), message(e));
            case RoleCancelledException e -> new Verdict(ExitStatus.INTERRUPTED, "interrupted");
            case AssertionError e -> new Verdict(ExitStatus.FABRIC_FAILED, message(e));
            case WorkCompletionException e -> new Verdict(ofCompletion(e), message(e));
            case UnexpectedCmEventException e -> new Verdict(ofEvent(e), message(e));
            case RdmaTimeoutException e -> new Verdict(ExitStatus.PEER_ABSENT, message(e));
            case NativeLibraryException e -> new Verdict(ExitStatus.HOST_NOT_READY, message(e));
            case RdmaException e -> new Verdict(ofErrno(e), message(e));
            case FabricException e -> new Verdict(ExitStatus.HOST_NOT_READY, message(e));
            default -> new Verdict(ExitStatus.HOST_NOT_READY, "unexpected " + failure, true);
        };
    }

    private static ExitStatus ofCompletion(WorkCompletionException e) {
        return switch (e.statusName()) {
            case "IBV_WC_RETRY_EXC_ERR", "IBV_WC_RESP_TIMEOUT_ERR", "IBV_WC_WR_FLUSH_ERR" -> ExitStatus.PEER_LOST;
            default -> ExitStatus.FABRIC_FAILED;
        };
    }

    private static ExitStatus ofEvent(UnexpectedCmEventException e) {
        return switch (e.got()) {
            case "RDMA_CM_EVENT_REJECTED" ->
                e.status() == INVALID_SERVICE_ID ? ExitStatus.PEER_ABSENT : ExitStatus.REJECTED;
            case "RDMA_CM_EVENT_UNREACHABLE" -> ExitStatus.PEER_ABSENT;
            case "RDMA_CM_EVENT_ADDR_ERROR", "RDMA_CM_EVENT_ROUTE_ERROR" -> ExitStatus.NO_ROUTE;
            case "RDMA_CM_EVENT_MULTICAST_ERROR" -> ExitStatus.UNSUPPORTED;
            case "RDMA_CM_EVENT_DEVICE_REMOVAL" -> ExitStatus.HOST_NOT_READY;
            case "RDMA_CM_EVENT_DISCONNECTED" -> ExitStatus.PEER_LOST;
            default -> ExitStatus.FABRIC_FAILED;
        };
    }

    private static ExitStatus ofErrno(RdmaException e) {
        return switch (e.errnoName()) {
            case "ENODEV", "ENETUNREACH", "EHOSTUNREACH", "ENETDOWN", "EADDRNOTAVAIL", "EAFNOSUPPORT" ->
                ExitStatus.NO_ROUTE;
            case "ECONNREFUSED", "ETIMEDOUT" -> ExitStatus.PEER_ABSENT;
            case "ECONNRESET", "EPIPE", "ECONNABORTED", "ENOTCONN" -> ExitStatus.PEER_LOST;
            case "ENOSYS", "EOPNOTSUPP", "EPROTONOSUPPORT", "ENOPROTOOPT", "ENOTSUPP" -> ExitStatus.UNSUPPORTED;
            case "EMSGSIZE" -> ExitStatus.SIZE_REFUSED;
            default -> ExitStatus.HOST_NOT_READY;
        };
    }

    private static String message(Throwable failure) {
        String message = failure.getMessage();
        return message == null || message.isBlank() ? failure.getClass().getSimpleName() : message;
    }
}
