package io.rdmatest.scenarios;

import io.rdmatest.junit.RemoteCounters;
import io.rdmatest.junit.ReportKeys;
import io.rdmatest.scenarios.role.CounterValues;
import io.rdmatest.scenarios.role.NodeRoles;
import io.rdmatest.scenarios.role.Place;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;

/** The counters of the devices that the other nodes of a stage have: read before a test, and judged after it. */
final class CountersThere {

    private static final Namespace NAMESPACE = Namespace.create(CountersThere.class);
    private static final Duration LOOK = Duration.ofSeconds(30);

    private record There(Place place, RemoteCounters counters) {}

    private final List<There> all = new ArrayList<>();

    /** Begins, once for the test of a context; for a stage that is not a test's, such as of a whole class, it does nothing. */
    static void begin(ExtensionContext context, Stage stage) {
        if (context.getTestMethod().isEmpty()
                || !RemoteCounters.areWanted(context)
                || context.getStore(NAMESPACE).get(CountersThere.class, CountersThere.class) != null) {
            return;
        }
        CountersThere there = new CountersThere();
        Stream.of(stage.server(), stage.client())
                .filter(place -> place.peer().isPresent())
                .distinct()
                .forEach(there::add);
        context.getStore(NAMESPACE).put(CountersThere.class, there);
    }

    private void add(Place place) {
        Map<String, String> facts = place.facts().environment();
        RemoteCounters counters = RemoteCounters.begin(
                place.name(),
                facts.get("device") + "/" + facts.get("port"),
                facts.getOrDefault("driver", ""),
                read(place));
        all.add(new There(place, counters));
    }

    private static Map<String, Long> read(Place place) {
        try (NodeRoles roles = new NodeRoles()) {
            return roles.start("counters", place, new CounterValues.Read())
                    .join(LOOK)
                    .values();
        }
    }

    /**
     * Ends it, if it was begun.
     *
     * @throws AssertionError if error counters grew in a test that would have passed
     */
    static void end(ExtensionContext context) {
        CountersThere there = context.getStore(NAMESPACE).remove(CountersThere.class, CountersThere.class);
        if (there == null) {
            return;
        }
        for (There each : there.all) {
            Map<String, Long> now;
            try {
                now = read(each.place());
            } catch (RuntimeException e) {
                // The test may have ended the node's agent. Whether that was meant is for the test to say.
                context.publishReportEntry(
                        ReportKeys.COUNTERS, "node " + each.place().name() + ": not read, " + e.getMessage());
                continue;
            }
            each.counters().judge(context, now);
        }
    }
}
