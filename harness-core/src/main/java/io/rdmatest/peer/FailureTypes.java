package io.rdmatest.peer;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.rdmatest.Cause;
import io.rdmatest.NativeAccessException;
import io.rdmatest.NativeLibraryException;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.verbs.WorkCompletion;
import io.rdmatest.verbs.WorkCompletionException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The exception types that keep their type between nodes. Immutable.
 *
 * <p>Types are registered by name. A received name is looked up here and never loaded as a class. A failure of another
 * type becomes its nearest registered superclass, or else a {@link RemoteFailureException}.
 */
public final class FailureTypes {

    private static final int DEEPEST_CAUSE = 8;
    private static final int LONGEST_STACK = 64 << 10;

    private static final FailureTypes CORE = new FailureTypes(new LinkedHashMap<>())
            .with(Exception.class, null)
            .with(RuntimeException.class, (message, details) -> new RuntimeException(message))
            .with(IllegalStateException.class, (message, details) -> new IllegalStateException(message))
            .with(IllegalArgumentException.class, (message, details) -> new IllegalArgumentException(message))
            .with(UnsupportedOperationException.class, (message, details) -> new UnsupportedOperationException(message))
            .with(NullPointerException.class, (message, details) -> new NullPointerException(message))
            .with(AssertionError.class, (message, details) -> new AssertionError(message))
            .with(
                    NativeLibraryException.class,
                    (message, details) -> new NativeLibraryException(Objects.requireNonNullElse(message, ""), null))
            .with(
                    NativeAccessException.class,
                    (message, details) -> new NativeAccessException(Objects.requireNonNullElse(message, ""), null))
            .with(RdmaException.class, FailureTypes::detailsOf, FailureTypes::rdma)
            .with(RdmaTimeoutException.class, FailureTypes::detailsOf, FailureTypes::timeout)
            .with(WorkCompletionException.class, FailureTypes::detailsOf, FailureTypes::completion)
            .with(UnexpectedCmEventException.class, FailureTypes::detailsOf, FailureTypes::event);

    private record Type(
            Function<Throwable, Map<String, String>> details,
            @Nullable BiFunction<@Nullable String, Map<String, String>, ? extends Throwable> rebuild) {}

    private final Map<String, Type> types;

    private FailureTypes(Map<String, Type> types) {
        this.types = types;
    }

    /** Returns the exception types of this module and the common ones of Java. */
    public static FailureTypes core() {
        return CORE;
    }

    private <T extends Throwable> FailureTypes with(
            Class<T> type, @Nullable BiFunction<@Nullable String, Map<String, String>, T> rebuild) {
        return with(type, failure -> Map.of(), rebuild);
    }

    /**
     * Returns a copy with one more type.
     *
     * @param type the class
     * @param details returns the values from which a failure is rebuilt, by name
     * @param rebuild makes a failure from message and details; null for a type that is never rebuilt
     * @param <T> the class
     */
    public <T extends Throwable> FailureTypes with(
            Class<T> type,
            Function<T, Map<String, String>> details,
            @Nullable BiFunction<@Nullable String, Map<String, String>, T> rebuild) {
        Map<String, Type> more = new LinkedHashMap<>(types);
        more.put(type.getName(), new Type(failure -> details.apply(type.cast(failure)), rebuild));
        return new FailureTypes(more);
    }

    /**
     * Writes a failure that is part of a role's results and does not end the role.
     *
     * @param failure any failure
     * @return the form that {@link #read} reads
     */
    public JsonNode write(Throwable failure) {
        return Wire.MAPPER.valueToTree(describe(failure));
    }

    /**
     * Reads a failure.
     *
     * @param written the result of {@link #write}
     * @return a failure of the nearest registered type, with the same message
     * @throws IllegalArgumentException if it is not a result of {@link #write}
     */
    public Throwable read(JsonNode written) {
        try {
            return rebuild(Wire.MAPPER.treeToValue(written, PeerFailure.class));
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(
                    "This is not a failure written by FailureTypes: " + e.getOriginalMessage(), e);
        }
    }

    // ---- on the node that failed ----

    PeerFailure describe(Throwable failure) {
        return describe(failure, 0);
    }

    private PeerFailure describe(Throwable failure, int depth) {
        String known = null;
        Map<String, String> details = Map.of();
        for (Class<?> type = failure.getClass(); type != null; type = type.getSuperclass()) {
            Type found = types.get(type.getName());
            if (found != null) {
                known = found.rebuild() == null ? null : type.getName();
                details = found.details().apply(failure);
                break;
            }
        }
        Throwable cause = failure.getCause();
        return new PeerFailure(
                failure.getClass().getName(),
                known,
                failure.getMessage(),
                Cause.of(failure).name(),
                details,
                depth == 0 ? stack(failure) : "",
                cause == null || depth == DEEPEST_CAUSE ? null : describe(cause, depth + 1));
    }

    private static String stack(Throwable failure) {
        StringWriter text = new StringWriter();
        failure.printStackTrace(new PrintWriter(text, true));
        return text.getBuffer().length() <= LONGEST_STACK
                ? text.toString()
                : text.getBuffer().substring(0, LONGEST_STACK) + "…";
    }

    // ---- on the node that receives the failure ----

    Throwable rebuild(PeerFailure failure) {
        Cause wanted = cause(failure.rdmaCause());
        Throwable below = failure.cause() == null ? null : rebuild(failure.cause());
        Type type = failure.known() == null ? null : types.get(failure.known());
        if (type != null && type.rebuild() != null) {
            try {
                Throwable rebuilt = join(type.rebuild().apply(failure.message(), failure.details()), below);
                // A type that loses the cause would change the verdict.
                if (Cause.of(rebuilt) == wanted) {
                    return rebuilt;
                }
            } catch (RuntimeException e) {
                // The type rejects the details. The message and the stack still describe the failure.
            }
        }
        return join(
                new RemoteFailureException(failure.type(), Objects.requireNonNullElse(failure.message(), ""), wanted),
                below);
    }

    /** A node of another release may send unknown causes. */
    private static Cause cause(String name) {
        for (Cause cause : Cause.values()) {
            if (cause.name().equals(name)) {
                return cause;
            }
        }
        return Cause.DEFECT;
    }

    private static Throwable join(Throwable rebuilt, @Nullable Throwable below) {
        if (below != null && rebuilt.getCause() == null) {
            try {
                Throwable ignored = rebuilt.initCause(below);
            } catch (IllegalStateException e) {
                // Its constructor has already set the cause to null.
                rebuilt.addSuppressed(below);
            }
        }
        return rebuilt;
    }

    // ---- types of this module: their messages are split into the constructor's arguments, and stay the same ----

    private static Map<String, String> detailsOf(RdmaException failure) {
        return Map.of(
                "rdmaCause", failure.rdmaCause().name(),
                "call", failure.call(),
                "errno", Integer.toString(failure.errno()));
    }

    private static RdmaException rdma(@Nullable String message, Map<String, String> details) {
        return new RdmaException(
                cause(details.getOrDefault("rdmaCause", "")),
                Objects.requireNonNullElse(message, ""),
                details.getOrDefault("call", ""),
                Integer.parseInt(details.getOrDefault("errno", "0")));
    }

    private static Map<String, String> detailsOf(RdmaTimeoutException failure) {
        return Map.of(
                "rdmaCause", failure.rdmaCause().name(),
                "awaited", failure.awaited(),
                "waited", failure.waited().toString());
    }

    private static RdmaTimeoutException timeout(@Nullable String message, Map<String, String> details) {
        String awaited = details.getOrDefault("awaited", "");
        Duration waited = Duration.parse(details.getOrDefault("waited", "PT0S"));
        String start = RdmaTimeoutException.reported(Cause.TIMEOUT, awaited, waited, "")
                        .getMessage() + "; ";
        String text = Objects.requireNonNullElse(message, "");
        return RdmaTimeoutException.reported(
                cause(details.getOrDefault("rdmaCause", "")),
                awaited,
                waited,
                text.startsWith(start) ? text.substring(start.length()) : "");
    }

    private static Map<String, String> detailsOf(WorkCompletionException failure) {
        return Map.of(
                "status", failure.status().name(),
                "statusCode", Integer.toString(failure.statusCode()),
                "vendorError", Integer.toString(failure.vendorError()),
                "opcode", failure.opcode().name(),
                "wrId", Long.toString(failure.wrId()),
                "qpNumber", Integer.toString(failure.qpNumber()));
    }

    private static WorkCompletionException completion(@Nullable String message, Map<String, String> details) {
        return new WorkCompletionException(
                WorkCompletion.Status.valueOf(details.getOrDefault("status", "")),
                Integer.parseInt(details.getOrDefault("statusCode", "0")),
                Integer.parseInt(details.getOrDefault("vendorError", "0")),
                WorkCompletion.Opcode.valueOf(details.getOrDefault("opcode", "")),
                Long.parseLong(details.getOrDefault("wrId", "0")),
                Integer.parseInt(details.getOrDefault("qpNumber", "0")));
    }

    private static Map<String, String> detailsOf(UnexpectedCmEventException failure) {
        return Map.of(
                "wanted", failure.wanted(),
                "got", failure.got(),
                "status", Integer.toString(failure.status()),
                "privateData", HexFormat.of().formatHex(failure.privateData()));
    }

    private static UnexpectedCmEventException event(@Nullable String message, Map<String, String> details) {
        Function<String, UnexpectedCmEventException> make = explanation -> new UnexpectedCmEventException(
                details.getOrDefault("wanted", ""),
                details.getOrDefault("got", ""),
                Integer.parseInt(details.getOrDefault("status", "0")),
                explanation,
                HexFormat.of().parseHex(details.getOrDefault("privateData", "")));
        String text = Objects.requireNonNullElse(message, "");
        return text.equals(make.apply("").getMessage())
                ? make.apply("")
                : make.apply(variable(make.andThen(Throwable::getMessage), text));
    }

    /** Finds the value of the only variable part of a message. */
    private static String variable(Function<String, String> template, String message) {
        String mark = "\0";
        String composed = template.apply(mark);
        int at = composed.indexOf(mark);
        int after = composed.length() - at - mark.length();
        boolean fits = message.length() >= at + after
                && message.startsWith(composed.substring(0, at))
                && message.endsWith(composed.substring(at + mark.length()));
        return fits ? message.substring(at, message.length() - after) : message;
    }
}
