package io.rdmatest.scenarios.command;

import io.rdmatest.Cause;
import io.rdmatest.ExitStatus;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.scenarios.role.RoleCancelledException;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.verbs.WorkCompletionException;
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
            case WorkCompletionException e -> cause.hint();
            case UnexpectedCmEventException e -> explanation(cause);
            case RdmaTimeoutException e -> explanation(cause);
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

    private static String explanation(Cause cause) {
        return cause.hint().isEmpty() ? cause.clause() : cause.hint();
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
