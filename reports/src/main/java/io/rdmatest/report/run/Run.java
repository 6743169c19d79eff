package io.rdmatest.report.run;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import io.rdmatest.Cause;
import io.rdmatest.ReportKeys;
import io.rdmatest.report.nights.Qualification;
import io.rdmatest.verbs.DriverQuirks;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The content of a run's journals, test by test.
 *
 * @param about the facts about the run that are not in its journals
 * @param began when its first JVM began
 * @param ended when its last event was
 * @param environment host, device and port, as the tests reported them
 * @param scenarios in the order in which they started
 * @param endedEarly whether the run did not come to its end, so that scenarios may be missing
 */
@JsonPropertyOrder({
    "schema",
    "schemaVersion",
    "about",
    "start",
    "end",
    "tool",
    "outcome",
    "outcomeReason",
    "notJudged",
    "environment",
    "scenarios"
})
public record Run(
        @JsonUnwrapped RunAbout about,
        @JsonIgnore Instant began,
        @JsonIgnore Instant ended,
        Map<String, String> environment,
        List<Scenario> scenarios,
        @JsonIgnore boolean endedEarly) {

    /** The name of the form with its version. A reader needs no other member to recognize the form. */
    @JsonProperty("schema")
    String schema() {
        return "qualification/" + Qualification.SCHEMA_VERSION;
    }

    /** When the first JVM of the run began: ISO-8601, UTC. */
    @JsonProperty("start")
    public String start() {
        return text(began);
    }

    /** When the last event of the run was: ISO-8601, UTC. */
    @JsonProperty("end")
    public String end() {
        return text(ended);
    }

    /** What made the run. */
    @JsonProperty("tool")
    Tool tool() {
        return Tool.THIS;
    }

    /** Always with milliseconds, so that texts sort as times do. */
    private static String text(Instant time) {
        return TIME.format(time);
    }

    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC);

    /** The version of the form of {@code qualification.json}. Files without a version are from before measurements had kinds. */
    @JsonProperty("schemaVersion")
    int schemaVersion() {
        return Qualification.SCHEMA_VERSION;
    }

    /** The name of the broken scenario that stands for the missing parts of a run's journal. */
    public static final String RECORD = "Record of the run";

    public static final String NEVER_FINISHED =
            "started and never finished: the JVM or the virtual machine ended during it";
    static final String NOT_RUN = "not run: the run ended before its turn";
    public static final String NOT_RUN_IN_CLASS =
            "not run: the JVM or the virtual machine ended in its class before its turn";

    /** One test, in the form it has in {@code qualification.json}. */
    @JsonPropertyOrder({
        "id",
        "name",
        "className",
        "method",
        "start",
        "verdict",
        "reason",
        "cause",
        "device",
        "labels",
        "parameters",
        "measurements",
        "warnings",
        "bytesVerified",
        "durationMillis"
    })
    public static final class Scenario {
        public final @JsonIgnore String id;
        public final String className;

        @JsonInclude(JsonInclude.Include.NON_NULL)
        public final @Nullable String method;

        @JsonProperty("id")
        private String stableId;

        public final @JsonIgnore Measurements collected = new Measurements();
        public final String name;
        public Verdict verdict = Verdict.BROKEN;
        public @Nullable String reason = NEVER_FINISHED;

        @JsonInclude(JsonInclude.Include.NON_NULL)
        public @Nullable Cause cause = Cause.NEVER_FINISHED;

        public @Nullable String device;

        @JsonInclude(JsonInclude.Include.NON_EMPTY)
        public final Map<String, String> labels = new LinkedHashMap<>();

        public final Map<String, String> parameters = new LinkedHashMap<>();
        public long durationMillis;

        @JsonIgnore
        public long startMillis;

        @JsonIgnore
        boolean finished;

        /** Whether it was planned, but neither begun nor skipped. */
        @JsonIgnore
        public boolean notRun;

        /** The last output of the JVM that died in it. */
        @JsonIgnore
        public @Nullable String lastWords;

        Scenario(String id, String name, @Nullable String className, @Nullable String method) {
            this.id = id;
            this.name = name;
            this.className = className == null ? "" : className;
            this.method = method;
            this.stableId = ScenarioNames.id(id, className, method, name);
        }

        /** Returns the id of the scenario, which is the same from run to run, and unique within a run. */
        public String stableId() {
            return stableId;
        }

        /** Adds a number to distinguish scenarios with the same class, method and name. */
        void number(int number) {
            stableId += " (" + number + ")";
        }

        /** When it started; of one that was not run, when the run ended. */
        @JsonProperty("start")
        public String start() {
            return text(Instant.ofEpochMilli(startMillis));
        }

        public Map<String, Object> getMeasurements() {
            return collected.json();
        }

        public long getBytesVerified() {
            return collected.bytesVerified();
        }

        /** The warnings about entries of the test that could not be read. */
        @JsonInclude(JsonInclude.Include.NON_EMPTY)
        public List<String> getWarnings() {
            return collected.warnings();
        }

        void end(JournalEvent event) {
            verdict = event.verdict() == null ? Verdict.BROKEN : event.verdict();
            reason = event.reason();
            cause = event.cause();
            durationMillis = Math.max(0, event.time() - startMillis);
            finished = true;
            lastWords = null;
        }

        void lost(JournalEvent died) {
            finished = false;
            verdict = Verdict.BROKEN;
            cause = Cause.NEVER_FINISHED;
            reason = died.reason() == null ? NEVER_FINISHED : NEVER_FINISHED + " (" + died.reason() + ")";
            lastWords = died.trace();
            durationMillis = Math.max(0, died.time() - startMillis);
        }

        @JsonIgnore
        public boolean isUnfinished() {
            return !finished && verdict == Verdict.BROKEN;
        }
    }

    public static Run of(List<JournalEvent> events) {
        RunReader reader = new RunReader();
        events.forEach(reader::read);
        return reader.run();
    }

    public long count(Verdict verdict) {
        return count(scenarios, verdict);
    }

    private static long count(List<Scenario> scenarios, Verdict verdict) {
        return scenarios.stream()
                .filter(scenario -> scenario.verdict == verdict)
                .count();
    }

    /** Returns when the first scenario started; null if that is not known. */
    @Nullable
    public Instant started() {
        return scenarios.stream()
                .mapToLong(scenario -> scenario.startMillis)
                .filter(millis -> millis > 0)
                .boxed()
                .min(Long::compare)
                .map(Instant::ofEpochMilli)
                .orElse(null);
    }

    /** Returns the same run, marked as not having reached its end. */
    public Run thatEndedEarly() {
        return new Run(about, began, ended, environment, scenarios, true);
    }

    /** Returns the same run with facts that are not in its journals. */
    public Run with(RunAbout about) {
        return new Run(about, began, ended, environment, scenarios, endedEarly);
    }

    /**
     * Returns the run as it is compared with others.
     *
     * @param file what it is called by
     */
    public Qualification qualification(Path file) {
        Map<String, Qualification.Scenario> named = new LinkedHashMap<>();
        Map<String, String> ids = new HashMap<>();
        for (Scenario each : scenarios) {
            String name = Qualification.unique(each.name, named.keySet());
            named.put(
                    name,
                    new Qualification.Scenario(
                            each.verdict.toString(),
                            Objects.requireNonNullElse(each.reason, ""),
                            each.collected.values()));
            ids.put(name, each.stableId());
        }
        return new Qualification(file, environment, named, ids, about.settings(), about.selected() != null);
    }

    private long countNotRun() {
        return scenarios.stream()
                .filter(scenario -> scenario.verdict == Verdict.SKIPPED)
                .filter(scenario -> scenario.reason == null || scenario.reason.isBlank() || scenario.notRun)
                .count();
    }

    /** Why a run in a virtual machine that the project started is a rehearsal. */
    public static final String IN_MACHINE = "soft-RoCE in a virtual machine; " + Outcome.REHEARSED.caveat();

    /** Returns why a run with this environment is a rehearsal; null if it is none. */
    public static @Nullable String rehearsal(Map<String, String> environment) {
        if (!Qualification.isRehearsal(environment)) {
            return null;
        }
        if (environment.containsKey(ReportKeys.MACHINE)) {
            return IN_MACHINE;
        }
        String driver = environment.getOrDefault("driver", "");
        return (driver.equals(DriverQuirks.SOFT_ROCE) ? "soft-RoCE" : driver) + "; " + Outcome.REHEARSED.caveat();
    }

    /** Returns where a run was: fabric, host, device, driver, firmware and rate. */
    public static String where(Map<String, String> environment) {
        return "%s on %s: %s/%s %s fw %s, %s, %s"
                .formatted(Stream.of("fabric", "host", "device", "port", "driver", "firmware", "gidType", "rate")
                        .map(fact -> environment.getOrDefault(fact, "?"))
                        .toArray());
    }

    /** Returns whether the run was on a software device, in virtual machines that the project started or on this host. */
    @JsonIgnore
    public boolean isRehearsal() {
        return Qualification.isRehearsal(environment);
    }

    /** Returns the outcome that the run has if everything in it passed. */
    @JsonIgnore
    public Outcome best() {
        return isRehearsal() ? Outcome.REHEARSED : about.selected() != null ? Outcome.PARTIAL : Outcome.QUALIFIED;
    }

    /** Returns what the run says about the fabric. */
    @JsonProperty("outcome")
    public Outcome outcome() {
        if (count(Verdict.FAILED) > 0) {
            return Outcome.NOT_QUALIFIED;
        }
        boolean judged = count(Verdict.PASSED) > 0;
        return judged && count(Verdict.BROKEN) == 0 && countNotRun() == 0 && !endedEarly
                ? best()
                : Outcome.INCONCLUSIVE;
    }

    /** Returns why, in a sentence, and in a further one for each reason that the run is no qualification. */
    @JsonProperty("outcomeReason")
    public String outcomeReason() {
        StringBuilder reason = new StringBuilder(verdicts());
        String rehearsal = rehearsal(environment);
        if (rehearsal != null) {
            reason.append(" This was a rehearsal: ").append(rehearsal).append('.');
        }
        RunAbout.Selected selected = about.selected();
        if (selected != null) {
            reason.append(' ')
                    .append(selected.sentence(scenarios.size()))
                    .append("; ")
                    .append(Outcome.PARTIAL.caveat())
                    .append('.');
        }
        leftOut().forEach(words -> reason.append(" Of ").append(words).append('.'));
        return reason.toString();
    }

    private String verdicts() {
        return switch (outcome()) {
            case QUALIFIED, REHEARSED, PARTIAL ->
                count(Verdict.PASSED) == 1
                        ? "The one scenario that was judged passed."
                        : "All " + count(Verdict.PASSED) + " scenarios that were judged passed.";
            case NOT_QUALIFIED ->
                isRehearsal()
                        ? scenarios(count(Verdict.FAILED)) + " of " + scenarios.size() + " failed."
                        : "The fabric failed " + scenarios(count(Verdict.FAILED)) + " of " + scenarios.size() + ".";
            case INCONCLUSIVE -> {
                if (count(Verdict.BROKEN) > 0) {
                    yield "Broken, so that nothing was learnt from it: " + scenarios(count(Verdict.BROKEN)) + ".";
                }
                if (countNotRun() > 0) {
                    yield "The run ended before " + scenarios(countNotRun()) + ".";
                }
                yield count(Verdict.PASSED) == 0
                        ? "Nothing was judged: no scenario was run."
                        : "The run did not come to its end.";
            }
        };
    }

    public static String scenarios(long count) {
        return count + (count == 1 ? " scenario" : " scenarios");
    }

    /** Returns what was skipped: each reason once, with the number of scenarios. Then what scenarios left out by request. */
    @JsonProperty("notJudged")
    public List<String> notJudged() {
        Map<String, Integer> reasons = new LinkedHashMap<>();
        for (Scenario scenario : scenarios) {
            if (scenario.verdict == Verdict.SKIPPED) {
                String reason = scenario.reason == null || scenario.reason.isBlank()
                        ? "no reason was given"
                        : scenario.reason.strip().lines().findFirst().orElse("");
                reasons.merge(reason, 1, Integer::sum);
            }
        }
        return Stream.concat(
                        reasons.entrySet().stream().map(each -> scenarios(each.getValue()) + ": " + each.getKey()),
                        leftOut())
                .toList();
    }

    /** Returns what scenarios left out by request. */
    private Stream<String> leftOut() {
        return scenarios.stream()
                .flatMap(scenario -> scenario.parameters.entrySet().stream()
                        .filter(each -> each.getKey().endsWith(ReportKeys.LEFT_OUT_BY_REQUEST))
                        .map(each -> "%s, %s: %s".formatted(scenario.name, each.getKey(), each.getValue())));
    }

    public String counts() {
        return counts(scenarios);
    }

    public static String counts(List<Scenario> scenarios) {
        return "%d passed, %d failed, %d broken, %d skipped"
                .formatted(
                        count(scenarios, Verdict.PASSED),
                        count(scenarios, Verdict.FAILED),
                        count(scenarios, Verdict.BROKEN),
                        count(scenarios, Verdict.SKIPPED));
    }
}
