package io.rdmatest.report.run;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.Cause;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One line of a journal.
 *
 * @param event what happened
 * @param time milliseconds since the epoch
 * @param id the JUnit unique id of the test or class, or {@code null} for events of the whole run
 * @param test whether the id is a test's and not a container's
 * @param name the scenario's name, as people read it
 * @param className the class of the test, with its package
 * @param method the method of the test
 * @param verdict how it ended
 * @param cause why it failed or is broken; null if it did neither, or if this build does not know the cause
 * @param reason why it ended so: the failure's message, or the reason of a skip
 * @param trace the failure's stack trace, or what a JVM that died wrote last
 * @param entry what a test published
 * @param expected how many tests are known of when this line is written
 * @param open how many test templates have not been unfolded into their invocations yet
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
@JsonIgnoreProperties(ignoreUnknown = true)
public record JournalEvent(
        Kind event,
        long time,
        @Nullable String id,
        @Nullable Boolean test,
        @Nullable String name,
        @Nullable String className,
        @Nullable String method,
        @Nullable Verdict verdict,
        @Nullable Cause cause,
        @Nullable String reason,
        @Nullable String trace,
        @Nullable Map<String, String> entry,
        @Nullable Integer expected,
        @Nullable Integer open) {

    /** Reads its own output, however long the message of a failure or a name is. */
    private static final ObjectMapper MAPPER = new ObjectMapper(JsonFactory.builder()
                    .streamReadConstraints(StreamReadConstraints.builder()
                            .maxNameLength(Integer.MAX_VALUE)
                            .maxStringLength(Integer.MAX_VALUE)
                            .build())
                    .build())
            .enable(DeserializationFeature.READ_UNKNOWN_ENUM_VALUES_AS_NULL);

    /** What a line can report. */
    public enum Kind {
        /** A JVM began to run a plan. */
        RUN_STARTED,
        /** A test of the plan. This is written before any test starts, so that no test is missing after a crash. */
        PLANNED,
        /** A test or a container of tests started. */
        STARTED,
        /** A test published something. */
        ENTRY,
        /** A test or a container of tests ended. */
        FINISHED,
        /** A test was not run, with a reason. */
        SKIPPED,
        /** The plan was run to its end. */
        RUN_FINISHED,
        /** The JVM ended before its plan did: the reason says how, the trace what it wrote last. */
        DIED,
        /** Nothing could be run here; the reason says why. */
        TROUBLE,
        /** An event is missing; the reason says why. */
        LOST
    }

    public JournalEvent {
        // JSON of something else is no event.
        Objects.requireNonNull(event, "event");
    }

    public static JournalEvent of(Kind kind) {
        return new JournalEvent(
                kind,
                System.currentTimeMillis(),
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null);
    }

    public static JournalEvent trouble(String reason) {
        return of(Kind.TROUBLE).withOutcome(null, reason, null);
    }

    static JournalEvent lost(String reason) {
        return of(Kind.LOST).withOutcome(null, reason, null);
    }

    public static JournalEvent died(String how, String lastWords) {
        return of(Kind.DIED).withOutcome(null, how, lastWords.isBlank() ? null : lastWords);
    }

    JournalEvent at(long millis) {
        return new JournalEvent(
                event, millis, id, test, name, className, method, verdict, cause, reason, trace, entry, expected, open);
    }

    public JournalEvent about(
            String id, boolean test, String name, @Nullable String className, @Nullable String method) {
        return new JournalEvent(
                event, time, id, test, name, className, method, verdict, cause, reason, trace, entry, expected, open);
    }

    public JournalEvent withOutcome(@Nullable Verdict verdict, @Nullable String reason, @Nullable String trace) {
        return new JournalEvent(
                event, time, id, test, name, className, method, verdict, cause, reason, trace, entry, expected, open);
    }

    public JournalEvent withEntry(Map<String, String> entry) {
        return new JournalEvent(
                event, time, id, test, name, className, method, verdict, cause, reason, trace, entry, expected, open);
    }

    public JournalEvent withCause(@Nullable Cause cause) {
        return new JournalEvent(
                event, time, id, test, name, className, method, verdict, cause, reason, trace, entry, expected, open);
    }

    public JournalEvent withExpected(int expected, int open) {
        return new JournalEvent(
                event, time, id, test, name, className, method, verdict, cause, reason, trace, entry, expected, open);
    }

    public boolean isTest() {
        return Boolean.TRUE.equals(test);
    }

    public String toLine() {
        try {
            return MAPPER.writeValueAsString(this);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("a journal event of strings and numbers has no JSON form", e);
        }
    }

    public static JournalEvent parse(String line) throws JsonProcessingException {
        return MAPPER.readValue(line, JournalEvent.class);
    }
}
