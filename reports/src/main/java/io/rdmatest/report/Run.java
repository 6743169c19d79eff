package io.rdmatest.report;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import io.rdmatest.scenarios.qualification.Qualification;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What the journals of a run say, test by test.
 *
 * @param environment host, device and port, as the tests reported them
 * @param scenarios in the order in which they started
 */
@JsonPropertyOrder({"schemaVersion", "environment", "scenarios"})
record Run(Map<String, String> environment, List<Scenario> scenarios) {

    /** The version of the form of {@code qualification.json}; files without one are of before measurements had kinds. */
    @JsonProperty("schemaVersion")
    int schemaVersion() {
        return Qualification.SCHEMA_VERSION;
    }

    /** The broken scenario that stands for what is not known of a run. */
    static final String RECORD = "Record of the run";

    static final String NEVER_FINISHED = "started and never finished: the JVM or the virtual machine ended during it";
    static final String NOT_RUN = "not run: the run ended before its turn";
    static final String NOT_RUN_IN_CLASS = "not run: the JVM or the virtual machine ended in its class before its turn";

    /** One test, in the form it has in {@code qualification.json}. */
    @JsonPropertyOrder({
        "name",
        "verdict",
        "reason",
        "device",
        "labels",
        "parameters",
        "measurements",
        "warnings",
        "bytesVerified",
        "durationMillis"
    })
    static final class Scenario {
        final @JsonIgnore String id;
        final @JsonIgnore String className;
        final @JsonIgnore @Nullable String method;
        final @JsonIgnore Measurements collected = new Measurements();
        public final String name;
        public Verdict verdict = Verdict.BROKEN;
        public @Nullable String reason = NEVER_FINISHED;
        public @Nullable String device;

        @JsonInclude(JsonInclude.Include.NON_EMPTY)
        public final Map<String, String> labels = new LinkedHashMap<>();

        public final Map<String, String> parameters = new LinkedHashMap<>();
        public long durationMillis;

        @JsonIgnore
        long startMillis;

        @JsonIgnore
        boolean finished;

        /** It was planned, and neither begun nor skipped by anyone. */
        @JsonIgnore
        boolean notRun;

        /** What the JVM that died in it wrote last. */
        @JsonIgnore
        @Nullable
        String lastWords;

        Scenario(String id, String name, @Nullable String className, @Nullable String method) {
            this.id = id;
            this.name = name;
            this.className = className == null ? "" : className;
            this.method = method;
        }

        public Map<String, Object> getMeasurements() {
            return collected.json();
        }

        public long getBytesVerified() {
            return collected.bytesVerified();
        }

        /** What the test published and nobody could read. */
        @JsonInclude(JsonInclude.Include.NON_EMPTY)
        public List<String> getWarnings() {
            return collected.warnings();
        }

        void end(JournalEvent event) {
            verdict = event.verdict() == null ? Verdict.BROKEN : event.verdict();
            reason = event.reason();
            durationMillis = Math.max(0, event.time() - startMillis);
            finished = true;
            lastWords = null;
        }

        void lost(JournalEvent died) {
            finished = false;
            verdict = Verdict.BROKEN;
            reason = died.reason() == null ? NEVER_FINISHED : NEVER_FINISHED + " (" + died.reason() + ")";
            lastWords = died.trace();
            durationMillis = Math.max(0, died.time() - startMillis);
        }

        @JsonIgnore
        boolean isUnfinished() {
            return !finished && verdict == Verdict.BROKEN;
        }
    }

    static Run of(List<JournalEvent> events) {
        RunReader reader = new RunReader();
        events.forEach(reader::read);
        return reader.run();
    }

    long count(Verdict verdict) {
        return scenarios.stream()
                .filter(scenario -> scenario.verdict == verdict)
                .count();
    }

    @JsonIgnore
    boolean isGood() {
        return count(Verdict.FAILED) == 0
                && count(Verdict.BROKEN) == 0
                && scenarios.stream()
                        .filter(scenario -> scenario.verdict == Verdict.SKIPPED)
                        .noneMatch(scenario -> scenario.reason == null || scenario.reason.isBlank() || scenario.notRun);
    }

    String counts() {
        return "%d passed, %d failed, %d broken, %d skipped"
                .formatted(count(Verdict.PASSED), count(Verdict.FAILED), count(Verdict.BROKEN), count(Verdict.SKIPPED));
    }
}
