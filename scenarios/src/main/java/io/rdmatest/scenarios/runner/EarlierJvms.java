package io.rdmatest.scenarios.runner;

import io.rdmatest.report.run.JournalEvent;
import io.rdmatest.report.run.RunReader;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The part of a run that JVMs began before they died. Another JVM does the rest, and repeats nothing.
 *
 * <p>Each JVM begins at least one new test, or dies in the set-up of a container, which then counts as begun. So the restarts
 * end, whatever the JVMs die of.
 */
public final class EarlierJvms {

    static final EarlierJvms NOTHING = new EarlierJvms(Set.of(), Set.of(), true, false);

    private final Set<String> ids;
    private final Set<String> planned;
    private final boolean ended;
    private final boolean anyInLastJvm;

    private EarlierJvms(Set<String> ids, Set<String> planned, boolean ended, boolean anyInLastJvm) {
        this.ids = ids;
        this.planned = planned;
        this.ended = ended;
        this.anyInLastJvm = anyInLastJvm;
    }

    public static EarlierJvms of(List<JournalEvent> events) {
        Set<String> ids = new HashSet<>();
        Set<String> planned = new LinkedHashSet<>();
        Set<String> openContainers = new LinkedHashSet<>();
        Set<String> testsOfJvm = new HashSet<>();
        boolean ended = false;
        boolean any = false;
        boolean died = false;
        for (JournalEvent event : events) {
            String id = event.id();
            switch (event.event()) {
                case RUN_STARTED -> {
                    ids.addAll(diedIn(openContainers, testsOfJvm));
                    openContainers.clear();
                    testsOfJvm.clear();
                    ended = false;
                    any = false;
                    died = false;
                }
                case DIED -> {
                    // A JVM that died after another one, without a plan of its own, has begun nothing.
                    any &= !died;
                    died = true;
                }
                case RUN_FINISHED -> ended = true;
                case PLANNED -> planned.add(id);
                case STARTED -> {
                    any = true;
                    if (event.isTest()) {
                        ids.add(id);
                        testsOfJvm.add(id);
                    } else {
                        openContainers.add(id);
                    }
                }
                case SKIPPED, FINISHED -> {
                    any = true;
                    ids.add(id);
                    openContainers.remove(id);
                }
                default -> {}
            }
        }
        ids.addAll(diedIn(openContainers, testsOfJvm));
        return new EarlierJvms(ids, planned, ended, any);
    }

    /** Returns the innermost containers that a JVM left open if it began no test in them: it died in their set-up. */
    private static List<String> diedIn(Collection<String> openContainers, Collection<String> testsOfJvm) {
        return openContainers.stream()
                .filter(container -> openContainers.stream()
                        .noneMatch(other -> !other.equals(container) && RunReader.isWithin(other, container)))
                .filter(container -> testsOfJvm.stream().noneMatch(test -> RunReader.isWithin(test, container)))
                .toList();
    }

    /** Tells whether a test or container is begun, or is within one that is done. */
    boolean contains(String id) {
        for (int end = id.length(); end > 0; end = id.lastIndexOf('/', end - 1)) {
            if (ids.contains(id.substring(0, end))) {
                return true;
            }
        }
        return false;
    }

    /** Tells whether the last JVM came to the end of its plan. */
    public boolean isEnded() {
        return ended;
    }

    /** Returns whether another JVM can do more: the last JVM began something but did not reach its end, and tests are left. */
    public boolean canGoOn() {
        return !ended && anyInLastJvm && planned.stream().anyMatch(id -> !contains(id));
    }
}
