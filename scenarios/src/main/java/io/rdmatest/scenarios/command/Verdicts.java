package io.rdmatest.scenarios.command;

import io.rdmatest.Cause;
import io.rdmatest.ExitStatus;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.RejectReason;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.WorkCompletionException;
import io.rdmatest.scenarios.role.RoleCancelledException;
import io.rdmatest.scenarios.role.ScenarioException;
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
 * Explains a failure to the person who typed the command: the exit status of its {@link Cause}, and one sentence.
 *
 * <p>A role that knows more than its failure tells, for example that the peer's limit is the size, throws a
 * {@link ScenarioException}, whose message is that sentence.
 */
public final class Verdicts {

    /**
     * A verdict.
     *
     * @param status how the command ended
     * @param message one sentence that names the cause, and the cure where one is known; without a line break
     * @param defect whether nothing explains the failure, so that its stack trace is needed
     */
    public record Verdict(ExitStatus status, String message, boolean defect) {}

    private Verdicts() {}

    /** Judges a failure. */
    public static Verdict of(Throwable failure) {
        Throwable shown = unwrapped(failure);
        if (shown instanceof TestAbortedException) {
            return verdict(ExitStatus.UNSUPPORTED, shown);
        }
        if (shown instanceof RoleCancelledException) {
            return new Verdict(ExitStatus.INTERRUPTED, "SIGINT or SIGTERM arrived before the command was done", false);
        }
        Cause cause = cause(shown);
        if (cause == Cause.DEFECT) {
            return defect(shown);
        }
        ExitStatus status = cause.exitStatus();
        String sentence = sentence(shown, cause);
        return sentence.isEmpty() ? verdict(status, shown) : verdict(status, sentence, shown);
    }

    private static Throwable unwrapped(Throwable failure) {
        Throwable cause = failure;
        while ((cause instanceof ExecutionException || cause instanceof CompletionException)
                && cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause;
    }

    /** A program uses Java's sockets to talk to its peer only, so their exceptions have these causes. */
    private static Cause cause(Throwable failure) {
        return switch (failure) {
            case ConnectException e -> Cause.PEER_ABSENT;
            case NoRouteToHostException e -> Cause.NO_ROUTE;
            case BindException e -> Cause.HOST_NOT_READY;
            case UnknownHostException e -> Cause.UNKNOWN_HOST;
            case SocketTimeoutException e -> Cause.PEER_LOST;
            case SocketException e -> Cause.PEER_LOST;
            case EOFException e -> Cause.PEER_LOST;
            default -> Cause.of(failure);
        };
    }

    /** Explains a failure whose own message describes a symptom only; empty if the message suffices. */
    private static String sentence(Throwable failure, Cause cause) {
        return switch (failure) {
            case WorkCompletionException e -> ofCompletion(cause);
            case UnexpectedCmEventException e -> ofEvent(e);
            case RdmaTimeoutException e -> ofTimeout(cause);
            case ConnectException e -> "nobody listens at the peer's address and port";
            case NoRouteToHostException e -> "there is no route to the peer";
            case BindException e -> "the address is not on this host, or the port is taken";
            case UnknownHostException e -> "no address is known for this host name";
            case SocketTimeoutException e -> "the peer stopped answering";
            case SocketException e -> "the peer ended the connection";
            case EOFException e -> "the peer ended the connection";
            case OutOfMemoryError e ->
                "the JVM has too little memory: give smaller sizes or counts, or set JAVA_TOOL_OPTIONS=-Xmx4g";
            default -> "";
        };
    }

    private static String ofCompletion(Cause cause) {
        return switch (cause) {
            case RETRY_EXCEEDED, RESPONSE_TIMEOUT ->
                "the peer stopped acknowledging in mid-transfer: its process or host died, or the path broke";
            case FLUSHED -> "the connection ended in mid-transfer, with requests outstanding";
            default -> "";
        };
    }

    private static String ofEvent(UnexpectedCmEventException e) {
        RejectReason reason = e.rejectReason().orElse(null);
        if (reason != null) {
            return ofRejection(reason);
        }
        return switch (e.got()) {
            case "RDMA_CM_EVENT_UNREACHABLE" ->
                "the peer's connection manager did not answer: check that the host is up and that its address is on an"
                        + " RDMA device";
            case "RDMA_CM_EVENT_ADDR_ERROR", "RDMA_CM_EVENT_ROUTE_ERROR" ->
                "the address has no route over an RDMA device";
            case "RDMA_CM_EVENT_CONNECT_ERROR" -> "the connection could not be established";
            case "RDMA_CM_EVENT_MULTICAST_ERROR" -> "the multicast group could not be joined";
            case "RDMA_CM_EVENT_DEVICE_REMOVAL" -> "the RDMA device was removed from this host";
            case "RDMA_CM_EVENT_DISCONNECTED" -> "the peer disconnected before the work was done";
            default -> "";
        };
    }

    private static String ofRejection(RejectReason reason) {
        if (reason.nobodyListens()) {
            return "nobody listens at the peer's address and port: start the server first, and check address, port and"
                    + " port space";
        }
        if (reason.byPeerProgram()) {
            return "the peer's program rejected the connection: it accepts no further connection, or expects other options";
        }
        return switch (reason) {
            case UNSUPPORTED_REQUEST, INVALID_CLASS_VERSION ->
                "the peer's connection manager does not support the request";
            default -> "the peer's connection manager rejected the connection";
        };
    }

    private static String ofTimeout(Cause cause) {
        return switch (cause) {
            case PEER_ABSENT -> "no peer connected or answered: check that its host is up, and its address and port";
            case NO_ROUTE, UNKNOWN_HOST -> "the address could not be resolved over an RDMA device";
            default -> "the peer stopped answering";
        };
    }

    private static Verdict verdict(ExitStatus status, Throwable failure) {
        return new Verdict(status, message(failure), false);
    }

    private static Verdict verdict(ExitStatus status, String sentence, Throwable failure) {
        return new Verdict(status, sentence + " (" + message(failure) + ")", false);
    }

    /** Reports a defect of this program. */
    private static Verdict defect(Throwable failure) {
        return new Verdict(
                ExitStatus.DEFECT,
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
