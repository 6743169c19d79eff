package io.rdmatest.scenarios.cli;

import io.rdmatest.NativeLibraryException;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.RejectReason;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.WorkCompletionException;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.scenarios.role.RoleCancelledException;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.verbs.PostException;
import java.io.EOFException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.opentest4j.TestAbortedException;

/**
 * Says what a failure means to whoever typed the command: an exit status, and one sentence.
 *
 * <p>A role that knows more than its failure tells, for example that the peer's limit is the size, throws a
 * {@link ScenarioException}; what is judged here is what a failure says by itself.
 */
final class Verdicts {

    /**
     * A verdict.
     *
     * @param status how the command ended
     * @param message one sentence that names the cause, and the cure where one is known; without a line break
     * @param defect whether nothing explains the failure, so that its stack trace is needed
     */
    record Verdict(ExitStatus status, String message, boolean defect) {}

    /** A device leads there, and nobody answers for the address, or for the gateway's. */
    private static final String SILENT_HOST =
            "no host, or no gateway to it, answers for the peer's address: check that the"
                    + " host is up, and the address";

    private Verdicts() {}

    /** Judges a failure. */
    static Verdict of(Throwable failure) {
        return switch (failure) {
            case ScenarioException e -> verdict(ExitStatus.valueOf(e.reason().name()), e);
            case RoleCancelledException e ->
                new Verdict(ExitStatus.INTERRUPTED, "SIGINT or SIGTERM came before it was done", false);
            case TestAbortedException e -> verdict(ExitStatus.UNSUPPORTED, e);
            case AssertionError e -> verdict(ExitStatus.FABRIC_FAILED, e);
            case WorkCompletionException e -> ofCompletion(e);
            case UnexpectedCmEventException e -> ofEvent(e);
            case RdmaTimeoutException e -> ofTimeout(e);
            case NativeLibraryException e -> verdict(ExitStatus.HOST_NOT_READY, e);
            case PostException e -> defect(e);
            case RdmaException e -> ofErrno(e);
            case FabricException e -> verdict(ExitStatus.HOST_NOT_READY, e);
            case ConnectException e ->
                verdict(ExitStatus.PEER_ABSENT, "nobody listens at the peer's address and port", e);
            case NoRouteToHostException e -> verdict(ExitStatus.NO_ROUTE, "there is no route to the peer", e);
            case BindException e ->
                verdict(ExitStatus.HOST_NOT_READY, "the address is not on this host, or the port is taken", e);
            case UnknownHostException e -> verdict(ExitStatus.NO_ROUTE, "no address is known for this host name", e);
            case SocketTimeoutException e -> verdict(ExitStatus.PEER_LOST, "the peer stopped answering", e);
            case SocketException e -> verdict(ExitStatus.PEER_LOST, "the peer ended the connection", e);
            case EOFException e -> verdict(ExitStatus.PEER_LOST, "the peer ended the connection", e);
            case OutOfMemoryError e ->
                verdict(
                        ExitStatus.HOST_NOT_READY,
                        "the JVM has not enough memory for this: ask for less, or set JAVA_TOOL_OPTIONS=-Xmx4g",
                        e);
            case ExecutionException e -> ofCause(e);
            case CompletionException e -> ofCause(e);
            default -> defect(failure);
        };
    }

    private static Verdict ofCause(Throwable failure) {
        return failure.getCause() == null ? defect(failure) : of(failure.getCause());
    }

    private static Verdict ofCompletion(WorkCompletionException e) {
        return switch (e.statusName()) {
            case "IBV_WC_RETRY_EXC_ERR", "IBV_WC_RESP_TIMEOUT_ERR" ->
                verdict(
                        ExitStatus.PEER_LOST,
                        "the peer stopped acknowledging in mid-transfer: its process or host died, or the path broke",
                        e);
            case "IBV_WC_WR_FLUSH_ERR" ->
                verdict(ExitStatus.PEER_LOST, "the connection ended in mid-transfer, with requests outstanding", e);
            default -> verdict(ExitStatus.FABRIC_FAILED, e);
        };
    }

    private static Verdict ofEvent(UnexpectedCmEventException e) {
        RejectReason reason = e.rejectReason().orElse(null);
        if (reason != null) {
            return ofRejection(reason, e);
        }
        return switch (e.got()) {
            case "RDMA_CM_EVENT_UNREACHABLE" ->
                verdict(
                        ExitStatus.PEER_ABSENT,
                        "the peer's connection manager did not answer: check that the host is up and that its address is"
                                + " on an RDMA device",
                        e);
            case "RDMA_CM_EVENT_ADDR_ERROR", "RDMA_CM_EVENT_ROUTE_ERROR" ->
                verdict(ExitStatus.NO_ROUTE, "the address has no route over an RDMA device", e);
            case "RDMA_CM_EVENT_CONNECT_ERROR" ->
                verdict(ExitStatus.FABRIC_FAILED, "the connection could not be established", e);
            case "RDMA_CM_EVENT_MULTICAST_ERROR" ->
                verdict(
                        // The device has no room for another queue pair, or the network refuses.
                        e.errnoName().equals("ENOMEM") ? ExitStatus.UNSUPPORTED : ExitStatus.FABRIC_FAILED,
                        "the multicast group could not be joined",
                        e);
            case "RDMA_CM_EVENT_DEVICE_REMOVAL" ->
                verdict(ExitStatus.HOST_NOT_READY, "the RDMA device was removed from this host", e);
            case "RDMA_CM_EVENT_DISCONNECTED" ->
                verdict(ExitStatus.PEER_LOST, "the peer disconnected before the work was done", e);
            default -> defect(e);
        };
    }

    private static Verdict ofRejection(RejectReason reason, UnexpectedCmEventException e) {
        if (reason.nobodyListens()) {
            return verdict(
                    ExitStatus.PEER_ABSENT,
                    "nobody listens at the peer's address and port: start the server first, and check address, port and"
                            + " port space",
                    e);
        }
        if (reason.byPeerProgram()) {
            return verdict(
                    ExitStatus.REJECTED,
                    "the peer's program rejected the connection: it takes no further one, or expects other options",
                    e);
        }
        return switch (reason) {
            case UNSUPPORTED_REQUEST, INVALID_CLASS_VERSION ->
                verdict(ExitStatus.UNSUPPORTED, "the peer's connection manager does not support the request", e);
            default -> verdict(ExitStatus.REJECTED, "the peer's connection manager rejected the connection", e);
        };
    }

    /** Before a connection is there the peer is absent, later it is lost. */
    private static Verdict ofTimeout(RdmaTimeoutException e) {
        String awaited = e.awaited();
        if (awaited.startsWith("RDMA_CM_EVENT_ADDR_RESOLVED")) {
            return verdict(ExitStatus.PEER_ABSENT, SILENT_HOST, e);
        }
        if (awaited.startsWith("RDMA_CM_EVENT_ROUTE_RESOLVED") || awaited.startsWith("address of ")) {
            return verdict(ExitStatus.NO_ROUTE, "the address could not be resolved over an RDMA device", e);
        }
        if (awaited.startsWith("connection ")) {
            return verdict(ExitStatus.PEER_ABSENT, "no peer came", e);
        }
        if (awaited.startsWith("answer to the connection request") || awaited.contains("ESTABLISHED")) {
            return verdict(ExitStatus.PEER_ABSENT, "the peer did not answer", e);
        }
        return verdict(ExitStatus.PEER_LOST, "the peer stopped answering", e);
    }

    private static Verdict ofErrno(RdmaException e) {
        if (e.isUnsupported()) {
            return verdict(ExitStatus.UNSUPPORTED, e);
        }
        if (e.call().equals("rdma_getaddrinfo") || message(e).startsWith("rdma_getaddrinfo(")) {
            return verdict(ExitStatus.NO_ROUTE, e);
        }
        return switch (e.errnoName()) {
            case "ENODEV", "ENETUNREACH", "EHOSTUNREACH", "ENETDOWN", "EADDRNOTAVAIL" ->
                verdict(ExitStatus.NO_ROUTE, e);
            case "ECONNREFUSED" -> verdict(ExitStatus.PEER_ABSENT, e);
            case "ETIMEDOUT" -> verdict(e.call().equals("rconnect") ? ExitStatus.PEER_ABSENT : ExitStatus.PEER_LOST, e);
            case "ECONNRESET", "EPIPE", "ECONNABORTED", "ENOTCONN" -> verdict(ExitStatus.PEER_LOST, e);
            case "EMSGSIZE" -> verdict(ExitStatus.SIZE_REFUSED, e);
            default -> verdict(ExitStatus.HOST_NOT_READY, e);
        };
    }

    private static Verdict verdict(ExitStatus status, Throwable failure) {
        return new Verdict(status, message(failure), false);
    }

    private static Verdict verdict(ExitStatus status, String sentence, Throwable failure) {
        return new Verdict(status, sentence + " (" + message(failure) + ")", false);
    }

    /** What is nobody's fault but this program's. */
    private static Verdict defect(Throwable failure) {
        return new Verdict(
                ExitStatus.HOST_NOT_READY,
                "unexpected " + failure.getClass().getSimpleName() + ", a defect of rdmatest: " + message(failure),
                true);
    }

    private static String message(Throwable failure) {
        String message = failure.getMessage();
        return message == null || message.isBlank()
                ? failure.getClass().getSimpleName()
                : message.strip().lines().map(String::strip).collect(Collectors.joining("; "));
    }
}
