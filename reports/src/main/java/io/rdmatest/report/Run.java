package io.rdmatest.report;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import io.rdmatest.junit.ReportKeys;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What the journals of a run say, test by test.
 *
 * @param environment host, device and port, as the tests reported them
 * @param scenarios in the order in which they started
 */
record Run(Map<String, String> environment, List<Scenario> scenarios) {

    static final String NEVER_FINISHED = "started and never finished: the JVM or the virtual machine ended during it";
    static final String NOT_RUN = "not run: the run ended before its turn";

    /** One test, in the form it has in {@code qualification.json}. */
    @JsonPropertyOrder({
        "name",
        "verdict",
        "reason",
        "device",
        "labels",
        "parameters",
        "measurements",
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
        public long bytesVerified;
        public long durationMillis;

        @JsonIgnore
        long startMillis;

        @JsonIgnore
        boolean finished;

        Scenario(String id, String name, @Nullable String className, @Nullable String method) {
            this.id = id;
            this.name = name;
            this.className = className == null ? "" : className;
            this.method = method;
        }

        public Map<String, Measurements.Value> getMeasurements() {
            return collected.values();
        }

        void end(JournalEvent event) {
            verdict = event.verdict() == null ? Verdict.BROKEN : event.verdict();
            reason = event.reason();
            durationMillis = Math.max(0, event.time() - startMillis);
            finished = true;
        }

        @JsonIgnore
        boolean isUnfinished() {
            return !finished && verdict == Verdict.BROKEN;
        }
    }

    static Run of(List<JournalEvent> events) {
        Map<String, String> environment = new TreeMap<>();
        Map<String, Scenario> scenarios = new LinkedHashMap<>();
        Map<String, JournalEvent> planned = new LinkedHashMap<>();
        Map<String, JournalEvent> openContainers = new LinkedHashMap<>();
        Map<String, String> devices = new LinkedHashMap<>();
        String trouble = null;
        long last = 0;
        for (JournalEvent event : events) {
            last = Math.max(last, event.time());
            String id = event.id();
            if (id == null) {
                trouble = event.event() == JournalEvent.Kind.TROUBLE ? event.reason() : trouble;
                continue;
            }
            switch (event.event()) {
                case PLANNED -> planned.put(id, event);
                case STARTED -> {
                    if (event.isTest()) {
                        planned.remove(id);
                        scenario(scenarios, event).startMillis = event.time();
                    } else {
                        openContainers.put(id, event);
                    }
                }
                case SKIPPED -> {
                    planned.remove(id);
                    Scenario skipped = scenario(scenarios, event);
                    skipped.startMillis = event.time();
                    skipped.end(event);
                }
                case FINISHED -> {
                    openContainers.remove(id);
                    if (event.isTest()) {
                        scenario(scenarios, event).end(event);
                    } else if (event.verdict() == Verdict.PASSED) {
                        planned.remove(id);
                    } else {
                        // Its set-up failed and its tests never started, or its tear-down failed after they ended.
                        boolean any = false;
                        for (JournalEvent test : List.copyOf(planned.values())) {
                            if (isWithin(test.id(), id)) {
                                any = true;
                                planned.remove(test.id());
                                Scenario lost = scenario(scenarios, test);
                                lost.startMillis = event.time();
                                lost.end(event);
                            }
                        }
                        if (!any) {
                            scenario(scenarios, event).end(event);
                        }
                    }
                }
                case ENTRY -> entry(event, environment, devices, event.isTest() ? scenario(scenarios, event) : null);
                default -> {}
            }
        }
        boolean crashed = false;
        for (Scenario scenario : scenarios.values()) {
            if (!scenario.finished) {
                crashed = true;
                scenario.durationMillis = Math.max(0, last - scenario.startMillis);
            }
        }
        for (JournalEvent container : openContainers.values()) {
            // The JVM died between two tests, or in a class's set-up: the class itself is what did not finish.
            boolean blamed = crashed || !String.valueOf(container.id()).contains("[class:");
            if (!blamed) {
                scenario(scenarios, container).startMillis = container.time();
                planned.remove(container.id());
                crashed = true;
            }
        }
        for (JournalEvent left : planned.values()) {
            Scenario notRun = scenario(scenarios, left);
            if (!notRun.finished) {
                notRun.verdict = Verdict.SKIPPED;
                notRun.reason = NOT_RUN;
                notRun.startMillis = last;
            }
        }
        for (Scenario scenario : scenarios.values()) {
            if (scenario.device == null) {
                devices.forEach((id, device) -> {
                    if (isWithin(scenario.id, id)) {
                        scenario.device = device;
                    }
                });
            }
            if (scenario.device == null) {
                scenario.device = environment.get("device");
            }
        }
        if (trouble != null) {
            environment.put("trouble", trouble);
        }
        return new Run(environment, new ArrayList<>(scenarios.values()));
    }

    /** Unique ids are paths: what is within a container continues its id with another segment. */
    private static boolean isWithin(@Nullable String id, String container) {
        return id != null && (id.equals(container) || id.startsWith(container + "/"));
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
                        .noneMatch(scenario -> scenario.reason == null
                                || scenario.reason.isBlank()
                                || NOT_RUN.equals(scenario.reason));
    }

    /** Tells whether the run ended before all that it began or planned was done. */
    @JsonIgnore
    boolean isCut() {
        return scenarios.stream().anyMatch(scenario -> scenario.isUnfinished() || NOT_RUN.equals(scenario.reason));
    }

    String counts() {
        return "%d passed, %d failed, %d broken, %d skipped"
                .formatted(count(Verdict.PASSED), count(Verdict.FAILED), count(Verdict.BROKEN), count(Verdict.SKIPPED));
    }

    private static void entry(
            JournalEvent event,
            Map<String, String> environment,
            Map<String, String> devices,
            @Nullable Scenario scenario) {
        Map<String, String> entry = event.entry();
        if (entry == null) {
            return;
        }
        entry.forEach((key, value) -> {
            if (key.startsWith(ReportKeys.ENVIRONMENT_PREFIX)) {
                environment.put(key.substring(ReportKeys.ENVIRONMENT_PREFIX.length()), value);
            }
        });
        String device = entry.get(ReportKeys.DEVICE);
        if (device != null) {
            devices.put(String.valueOf(event.id()), device);
        }
        if (scenario == null) {
            return;
        }
        if (device != null) {
            scenario.device = device;
        }
        String parameter = entry.get(ReportKeys.PARAMETER);
        if (parameter != null) {
            scenario.parameters.put(parameter, entry.getOrDefault(ReportKeys.VALUE, ""));
        }
        String label = entry.get(ReportKeys.LABEL);
        if (label != null) {
            scenario.labels.put(label, entry.getOrDefault(ReportKeys.VALUE, ""));
        }
        String verified = entry.get(ReportKeys.BYTES_VERIFIED);
        if (verified != null) {
            scenario.bytesVerified += Long.parseLong(verified);
        }
        scenario.collected.add(entry);
    }

    private static Scenario scenario(Map<String, Scenario> scenarios, JournalEvent event) {
        String id = String.valueOf(event.id());
        return scenarios.computeIfAbsent(
                id,
                ignored ->
                        new Scenario(id, event.name() == null ? id : event.name(), event.className(), event.method()));
    }
}
