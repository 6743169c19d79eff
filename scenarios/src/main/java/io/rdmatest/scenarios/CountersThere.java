package io.rdmatest.scenarios;

import io.rdmatest.Closer;
import io.rdmatest.ReportKeys;
import io.rdmatest.junit.fabric.RemoteCounters;
import io.rdmatest.scenarios.node.CounterValues;
import io.rdmatest.scenarios.node.NodeRoles;
import io.rdmatest.scenarios.node.Place;
import io.rdmatest.scenarios.pairs.AtOnce;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;

/** The counters of the devices that the other nodes of a test have: read before it, and judged after it. */
final class CountersThere {

    private static final Namespace NAMESPACE = Namespace.create(CountersThere.class);
    private static final Duration LOOK = Duration.ofSeconds(30);

    /** How many nodes are read at once. */
    private static final int AT_ONCE = 32;

    private final ExtensionContext context;
    private final Map<Place, RemoteCounters> all = new LinkedHashMap<>();

    private CountersThere(ExtensionContext context) {
        this.context = context;
    }

    /** Returns the counters that are judged after the test of a context. */
    static CountersThere of(ExtensionContext context) {
        return context.getStore(NAMESPACE)
                .getOrComputeIfAbsent(CountersThere.class, key -> new CountersThere(context), CountersThere.class);
    }

    /** Begins, once for the test of a context; for a stage that is not a test's, such as of a whole class, it does nothing. */
    static void begin(ExtensionContext context, Stage stage) {
        if (context.getTestMethod().isEmpty()
                || !RemoteCounters.areWanted(context)
                || context.getStore(NAMESPACE).get(CountersThere.class, CountersThere.class) != null) {
            return;
        }
        CountersThere there = of(context);
        Stream.of(stage.server(), stage.client())
                .filter(place -> place.peer().isPresent())
                .distinct()
                .forEach(place -> there.add(place, read(place)));
    }

    /** Tells whether counters are read at all. */
    boolean areWanted() {
        return RemoteCounters.areWanted(context);
    }

    /** Tells whether a test fails when error counters increased. */
    boolean areJudged() {
        return RemoteCounters.areJudged(context);
    }

    /**
     * Reads the counters of places, to be judged after the test. What can't be read is published.
     *
     * @param places the places; those of this JVM are left out, whose device the run judges itself
     * @throws InterruptedException if the caller is to end
     */
    void begin(Collection<Place> places) throws InterruptedException {
        if (!areWanted()) {
            return;
        }
        List<Place> there =
                places.stream().filter(place -> place.peer().isPresent()).toList();
        Map<Place, Map<String, Long>> values = new ConcurrentHashMap<>();
        publish(AtOnce.each(there, AT_ONCE, place -> values.put(place, read(place))));
        for (Place place : there) {
            Map<String, Long> read = values.get(place);
            if (read != null && read.isEmpty()) {
                publish(place, "the device has none that can be read");
            } else if (read != null) {
                add(place, read);
            }
        }
    }

    /** Returns the losses among counters that increased at a place. */
    static Map<String, Long> losses(Map<String, Long> increased, Place place) {
        return RemoteCounters.losses(increased, driver(place));
    }

    private static String driver(Place place) {
        return place.facts().environment().getOrDefault("driver", "");
    }

    private void add(Place place, Map<String, Long> before) {
        Map<String, String> facts = place.facts().environment();
        all.put(
                place,
                RemoteCounters.begin(
                        place.name(), facts.get("device") + "/" + facts.get("port"), driver(place), before));
    }

    private static Map<String, Long> read(Place place) {
        try (NodeRoles roles = new NodeRoles()) {
            return roles.start("counters", place, new CounterValues.Read())
                    .join(LOOK)
                    .values();
        }
    }

    private void publish(Map<Place, Throwable> unread) {
        unread.forEach((place, why) -> publish(place, why.getMessage() == null ? why.toString() : why.getMessage()));
    }

    private void publish(Place place, String why) {
        context.publishReportEntry(ReportKeys.COUNTERS, "node " + place.name() + ": not read, " + why);
    }

    /**
     * Ends it, if it was begun.
     *
     * @throws AssertionError if error counters grew in a test that would have passed
     */
    static void end(ExtensionContext context) {
        CountersThere there = context.getStore(NAMESPACE).remove(CountersThere.class, CountersThere.class);
        if (there != null) {
            there.judge();
        }
    }

    private void judge() {
        Map<Place, Map<String, Long>> now = new ConcurrentHashMap<>();
        try {
            // The test may have ended a node's agent. Whether that was meant is for the test to say.
            publish(AtOnce.each(new ArrayList<>(all.keySet()), AT_ONCE, place -> now.put(place, read(place))));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        try (Closer closer = new Closer()) {
            all.forEach((place, counters) -> {
                Map<String, Long> values = now.get(place);
                if (values != null) {
                    closer.run(() -> counters.judge(context, values));
                }
            });
        }
    }
}
