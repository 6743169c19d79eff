package io.rdmatest.report.run;

import io.rdmatest.Cause;
import io.rdmatest.ReportKeys;
import io.rdmatest.report.run.Run.Scenario;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Makes a {@link Run} from the events of journals: one JVM after the other, each from its start to its end. */
public final class RunReader {

    /** Allure's label with the unique id of a test. */
    public static final String UNIQUE_ID_LABEL = "junit.platform.uniqueid";

    /** The largest number of reasons for missing events that are named. */
    private static final int MOST_LOST = 3;

    private static final int LONGEST_NAME = 500;
    private static final int LONGEST_VALUE = 10_000;

    /** The driver of a device that the kernel does not have, see RdmaDevice.driver(). */
    private static final String STAND_IN = "stand-in";

    private final Map<String, String> environment = new TreeMap<>();
    private final Map<String, Scenario> scenarios = new LinkedHashMap<>();
    private final Map<String, JournalEvent> planned = new LinkedHashMap<>();
    private final Map<String, String> devices = new LinkedHashMap<>();

    /** The open tests of the JVM whose events are being read. */
    private final Set<Scenario> openTests = new LinkedHashSet<>();

    private final Map<String, JournalEvent> openContainers = new LinkedHashMap<>();

    private final Set<String> lostContainers = new LinkedHashSet<>();

    /** Why events are missing. */
    private final Set<String> lost = new LinkedHashSet<>();

    private @Nullable String trouble;
    private long first = Long.MAX_VALUE;
    private long last;

    void read(JournalEvent event) {
        if (event.event() == JournalEvent.Kind.RUN_STARTED) {
            // The end of the previous JVM was not recorded, but it was before the start of this one.
            endOfJvm(JournalEvent.of(JournalEvent.Kind.DIED).at(last));
        }
        if (event.event() == JournalEvent.Kind.LOST) {
            lost.add(String.valueOf(event.reason()));
            return;
        }
        first = Math.min(first, event.time());
        last = Math.max(last, event.time());
        String id = event.id();
        if (id == null) {
            if (event.event() == JournalEvent.Kind.TROUBLE) {
                trouble = event.reason();
            } else if (event.event() == JournalEvent.Kind.DIED) {
                endOfJvm(event);
            } else if (event.event() == JournalEvent.Kind.ENTRY) {
                // The device that the run found before its first scenario.
                entry(event, null);
            }
            return;
        }
        switch (event.event()) {
            case PLANNED -> planned.put(id, event);
            case STARTED -> {
                if (event.isTest()) {
                    planned.remove(id);
                    Scenario started = scenario(event);
                    started.startMillis = event.time();
                    openTests.add(started);
                } else {
                    openContainers.put(id, event);
                }
            }
            case SKIPPED -> {
                planned.remove(id);
                Scenario skipped = scenario(event);
                skipped.startMillis = event.time();
                skipped.end(event);
            }
            case FINISHED -> finished(id, event);
            case ENTRY -> entry(event, event.isTest() ? scenario(event) : null);
            default -> {}
        }
    }

    private void finished(String id, JournalEvent event) {
        JournalEvent started = openContainers.remove(id);
        if (event.isTest()) {
            Scenario ended = scenario(event);
            ended.end(event);
            openTests.remove(ended);
        } else if (event.verdict() == Verdict.PASSED) {
            planned.remove(id);
        } else {
            // Its set-up failed and its tests never started, or its tear-down failed after they ended.
            boolean any = false;
            // A failure of the engine is no failure of a class's set-up. Tests that were not begun then have other
            // reasons.
            boolean ofTests = event.className() != null;
            for (JournalEvent test : List.copyOf(planned.values())) {
                if (ofTests && isWithin(test.id(), id)) {
                    any = true;
                    planned.remove(test.id());
                    Scenario lost = scenario(test);
                    lost.startMillis = event.time();
                    lost.end(event);
                }
            }
            if (!any) {
                Scenario own = scenario(event);
                own.startMillis = started == null ? event.time() : started.time();
                own.end(event);
            }
        }
    }

    /**
     * Blames the end of a JVM on the tests that were running. If there are none, blames the outermost class, which was in its
     * set-up or between two tests.
     */
    private void endOfJvm(JournalEvent died) {
        openTests.forEach(test -> test.lost(died));
        if (openTests.isEmpty()) {
            openContainers.values().stream()
                    .filter(container -> String.valueOf(container.id()).contains("[class:"))
                    .findFirst()
                    .ifPresent(container -> {
                        planned.remove(container.id());
                        Scenario lost = scenario(container);
                        lostContainers.add(lost.id);
                        lost.startMillis = container.time();
                        lost.lost(died);
                    });
        }
        openTests.clear();
        openContainers.clear();
    }

    Run run() {
        endOfJvm(JournalEvent.of(JournalEvent.Kind.DIED).at(last));
        for (JournalEvent left : planned.values()) {
            Scenario notRun = scenario(left);
            if (!notRun.finished) {
                notRun.verdict = Verdict.SKIPPED;
                notRun.cause = null;
                notRun.notRun = true;
                notRun.reason = lostContainers.stream().anyMatch(container -> isWithin(notRun.id, container))
                        ? Run.NOT_RUN_IN_CLASS
                        : Run.NOT_RUN;
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
        if (STAND_IN.equals(environment.get("driver"))) {
            environment.put(
                    "evidence",
                    "none: another library is in the place of libibverbs, and nothing here holds for a fabric");
        }
        if (!lost.isEmpty()) {
            // A failure, or a whole test, may be missing. A reader of the verdicts has to know that.
            Scenario record = new Scenario(Run.RECORD, Run.RECORD, null, null);
            record.startMillis = last;
            record.reason = "the run's journal is incomplete, so that verdicts and measurements may be missing: "
                    + lost.stream().limit(MOST_LOST).collect(Collectors.joining("; "))
                    + (lost.size() > MOST_LOST ? "; and " + (lost.size() - MOST_LOST) + " more" : "");
            record.cause = Cause.HOST_NOT_READY;
            record.finished = true;
            scenarios.put(record.id, record);
        }
        Map<String, Integer> same = new HashMap<>();
        for (Scenario scenario : scenarios.values()) {
            int number = same.merge(scenario.stableId(), 1, Integer::sum);
            if (number > 1) {
                scenario.number(number);
            }
        }
        return new Run(
                RunAbout.of(environment),
                Instant.ofEpochMilli(first == Long.MAX_VALUE ? last : first),
                Instant.ofEpochMilli(last),
                environment,
                new ArrayList<>(scenarios.values()),
                false);
    }

    /**
     * Returns whether an id is within a container. Unique ids are paths: an element of a container adds a segment to the
     * container's id.
     */
    public static boolean isWithin(@Nullable String id, String container) {
        return id != null && (id.equals(container) || id.startsWith(container + "/"));
    }

    private void entry(JournalEvent event, @Nullable Scenario scenario) {
        Map<String, String> entry = event.entry();
        if (entry == null) {
            return;
        }
        entry.forEach((key, value) -> {
            if (key.startsWith(ReportKeys.ENVIRONMENT_PREFIX)) {
                environment.put(
                        shortened(key.substring(ReportKeys.ENVIRONMENT_PREFIX.length()), LONGEST_NAME, scenario),
                        shortened(value, LONGEST_VALUE, scenario));
            }
        });
        String device = entry.get(ReportKeys.DEVICE);
        if (device != null) {
            device = shortened(device, LONGEST_NAME, scenario);
            devices.put(String.valueOf(event.id()), device);
        }
        if (scenario == null) {
            return;
        }
        if (device != null) {
            scenario.device = device;
        }
        String value = entry.getOrDefault(ReportKeys.VALUE, "");
        String parameter = entry.get(ReportKeys.PARAMETER);
        if (parameter != null) {
            scenario.parameters.put(
                    shortened(parameter, LONGEST_NAME, scenario), shortened(value, LONGEST_VALUE, scenario));
        }
        String label = entry.get(ReportKeys.LABEL);
        if (label != null && isFree(label)) {
            scenario.labels.put(shortened(label, LONGEST_NAME, scenario), shortened(value, LONGEST_VALUE, scenario));
        } else if (label != null) {
            scenario.collected.warn(
                    "unreadable entry " + ReportKeys.LABEL + " \"" + label + "\": the report itself sets this label");
        }
        scenario.collected.add(entry);
    }

    /** Returns whether a test may set a label. The report uses some labels to assign results to tests. */
    public static boolean isFree(String label) {
        return !label.equals(UNIQUE_ID_LABEL);
    }

    /** Cuts a text that is longer than any reader of the summary expects, with a warning. */
    private static String shortened(String text, int most, @Nullable Scenario scenario) {
        if (text.length() <= most) {
            return text;
        }
        if (scenario != null) {
            scenario.collected.warn("an entry was cut: it has %d characters, at most %d: %s…"
                    .formatted(text.length(), most, text.substring(0, 60).replaceAll("\\p{Cntrl}", "?")));
        }
        return text.substring(0, most) + "…";
    }

    private Scenario scenario(JournalEvent event) {
        String id = String.valueOf(event.id());
        return scenarios.computeIfAbsent(
                id,
                ignored ->
                        new Scenario(id, event.name() == null ? id : event.name(), event.className(), event.method()));
    }
}
