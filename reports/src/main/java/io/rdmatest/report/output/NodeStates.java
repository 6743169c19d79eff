package io.rdmatest.report.output;

import com.fasterxml.jackson.annotation.JsonValue;
import io.rdmatest.report.culprits.Culprit;
import io.rdmatest.report.culprits.PairLine;
import io.rdmatest.report.page.BadPair;
import io.rdmatest.report.page.Page;
import io.rdmatest.report.page.PortFigures;
import io.rdmatest.report.page.RunPairs;
import io.rdmatest.report.run.Outcome;
import io.rdmatest.report.run.Run;
import io.rdmatest.report.run.RunAbout;
import io.rdmatest.report.run.Verdict;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Decides the state of each node and each of its rails: the content of {@code nodes.json}. */
final class NodeStates {

    /** The name of the form with its version. */
    static final String SCHEMA = "nodes/1";

    /** How many names of scenarios a sentence has. */
    private static final int MOST_NAMED = 3;

    /** How scenarios name their sides. */
    private static final String SIDE = "node ";

    /** The state of a node or a rail. If there are several, the worst one counts. */
    enum State {
        /** Nothing was judged; or all that was judged passed in a partial run; or the run is a rehearsal, however it went. */
        UNKNOWN,
        /** What was judged passed. */
        GOOD,
        /**
         * A scenario or a pair failed between this node and another one, and there is no evidence which of the two is
         * bad.
         */
        SUSPECT,
        /** The evidence shows that it is bad. */
        BAD;

        @JsonValue
        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * A rail of a node.
     *
     * @param rail its name
     * @param state what is known of it
     * @param evidence why, a sentence each; never empty
     * @param action what to do; null if it is good
     */
    record RailEntry(
            String rail,
            State state,
            List<String> evidence,
            @Nullable String action) {}

    /**
     * A node.
     *
     * @param node its name
     * @param state the worst state of its rails
     * @param rails its rails; never empty
     */
    record Entry(String node, State state, List<RailEntry> rails) {}

    /**
     * A cause that belongs to no single node: a path between two nodes, or a block between two leaves.
     *
     * @param kind {@code path} or {@code block}
     * @param rail the rail
     * @param from the node or the leaf that sends
     * @param to the node or the leaf that receives
     * @param evidence why, in a sentence
     * @param action what to do
     */
    record Link(String kind, String rail, String from, String to, String evidence, String action) {}

    /** What is known of one rail of a node. */
    private static final class Collected {
        private final List<String> passed = new ArrayList<>();
        private final List<String> failedAlone = new ArrayList<>();
        private final SortedMap<String, List<String>> failedWith = new TreeMap<>();
        private final List<String> broken = new ArrayList<>();
        private final List<Culprit> culprits = new ArrayList<>();
        private final List<Culprit> suspects = new ArrayList<>();
        private final List<Culprit> paths = new ArrayList<>();
        private final SortedMap<String, Integer> unexplained = new TreeMap<>();
        private int measured;
        private int notMeasured;

        private void add(Culprit culprit) {
            (culprit.isSuspect() ? suspects : culprits).add(culprit);
        }

        private boolean isBad() {
            return !culprits.isEmpty() || !failedAlone.isEmpty();
        }
    }

    private final Run run;
    private final RunPairs pairs;
    private final Map<String, Map<String, Collected>> nodes = new LinkedHashMap<>();
    private final List<String> ofNoNode = new ArrayList<>();

    NodeStates(Run run, RunPairs pairs) {
        this.run = run;
        this.pairs = pairs;
        run.about()
                .nodes()
                .forEach(node -> rails(node).forEach(rail -> {
                    Collected ignored = of(node.name(), rail);
                }));
        for (PortFigures port : pairs.ports()) {
            Collected collected = of(port.node(), port.rail());
            collected.measured += port.measured();
            collected.notMeasured += port.notMeasured();
        }
        run.scenarios().forEach(this::collect);
        pairs.culprits().forEach(this::collect);
        for (BadPair pair : pairs.unexplained()) {
            Collected from = of(pair.from(), pair.rail());
            Collected to = of(pair.to(), pair.rail());
            // A node that is bad the other way may be so this way, too: that is nothing against its partner.
            if (from.culprits.isEmpty() && to.culprits.isEmpty()) {
                from.unexplained.merge(pair.cause(), 1, Integer::sum);
                to.unexplained.merge(pair.cause(), 1, Integer::sum);
            }
        }
    }

    private static List<String> rails(RunAbout.NodeName node) {
        return node.rails().isEmpty() ? List.of(PairLine.ONLY_RAIL) : node.rails();
    }

    private Collected of(String node, String rail) {
        return nodes.computeIfAbsent(node, ignored -> new LinkedHashMap<>())
                .computeIfAbsent(rail, ignored -> new Collected());
    }

    /** Returns the rail of a node on which scenarios run: the selected rail, or otherwise the node's first rail. */
    private Collected whereScenariosRun(String node) {
        RunAbout.FabricName fabric = run.about().fabric();
        String asked = fabric == null ? null : fabric.rail();
        return of(
                node,
                asked != null
                        ? asked
                        : Objects.requireNonNull(nodes.get(node))
                                .keySet()
                                .iterator()
                                .next());
    }

    private void collect(Run.Scenario scenario) {
        List<String> sides = Stream.of("client", "server")
                .map(side -> scenario.parameters.getOrDefault(side, ""))
                .filter(side -> side.startsWith(SIDE))
                .map(side -> side.substring(SIDE.length()))
                .filter(nodes::containsKey)
                .distinct()
                .toList();
        // On a fabric of one node everything is on that node.
        List<String> on = sides.isEmpty() && nodes.size() == 1 ? List.copyOf(nodes.keySet()) : sides;
        if (on.isEmpty() && scenario.verdict == Verdict.FAILED) {
            ofNoNode.add(scenario.name);
        }
        for (String node : on) {
            Collected collected = whereScenariosRun(node);
            switch (scenario.verdict) {
                case PASSED -> collected.passed.add(scenario.name);
                case BROKEN -> collected.broken.add(scenario.name);
                case FAILED -> {
                    if (on.size() == 1) {
                        collected.failedAlone.add(scenario.name);
                    } else {
                        String other = on.get(node.equals(on.getFirst()) ? 1 : 0);
                        collected
                                .failedWith
                                .computeIfAbsent(other, ignored -> new ArrayList<>())
                                .add(scenario.name);
                    }
                }
                case SKIPPED -> {
                    // Says nothing of the node.
                }
            }
        }
    }

    private void collect(Culprit culprit) {
        switch (culprit) {
            // A node that is bad on all rails that it has.
            case Culprit.Node node ->
                Objects.requireNonNull(nodes.get(node.node())).values().forEach(collected -> collected.add(node));
            case Culprit.Port port -> of(port.node(), port.rail()).add(port);
            case Culprit.Path path -> {
                of(path.from(), path.rail()).paths.add(path);
                of(path.to(), path.rail()).paths.add(path);
            }
            case Culprit.Block block -> {
                // It belongs to no single node. It is among the links.
            }
        }
    }

    /** Returns the nodes in the order of the fabric's file. */
    List<Entry> entries() {
        List<Entry> entries = new ArrayList<>();
        nodes.forEach((node, rails) -> {
            List<RailEntry> its = rails.entrySet().stream()
                    .map(rail -> entry(node, rail.getKey(), rail.getValue()))
                    .toList();
            State worst = its.stream()
                    .map(RailEntry::state)
                    .max(Comparator.naturalOrder())
                    .orElse(State.UNKNOWN);
            entries.add(new Entry(node, worst, its));
        });
        return entries;
    }

    private RailEntry entry(String node, String rail, Collected collected) {
        State state = State.UNKNOWN;
        if (run.isRehearsal()) {
            // What fails without hardware is no reason to take a node out of service.
            return new RailEntry(rail, state, evidence(collected), Outcome.REHEARSED.instead());
        } else if (collected.isBad()) {
            state = State.BAD;
        } else if (!collected.suspects.isEmpty()
                || !collected.paths.isEmpty()
                || !collected.unexplained.isEmpty()
                || collected.failedWith.keySet().stream()
                        .anyMatch(other -> !whereScenariosRun(other).isBad())) {
            state = State.SUSPECT;
        } else if (isProven(collected) && run.best().instead() == null) {
            state = State.GOOD;
        }
        return new RailEntry(rail, state, evidence(collected), action(node, rail, state, collected));
    }

    private static boolean isProven(Collected collected) {
        return !collected.passed.isEmpty() || collected.measured > 0;
    }

    private static List<String> evidence(Collected collected) {
        List<String> evidence = new ArrayList<>();
        Stream.of(collected.culprits, collected.suspects, collected.paths)
                .flatMap(List::stream)
                .forEach(each ->
                        evidence.add(each.name() + ": " + each.evidence().text()));
        some(collected.failedAlone, "failed on this node alone", evidence);
        collected.failedWith.forEach((other, names) -> some(names, "failed between this node and " + other, evidence));
        int unexplained = collected.unexplained.values().stream()
                .mapToInt(Integer::intValue)
                .sum();
        if (unexplained > 0) {
            String causes = collected.unexplained.entrySet().stream()
                    .map(each -> each.getKey() + " " + each.getValue())
                    .collect(Collectors.joining(", "));
            evidence.add(pairs(unexplained) + " bad, and no culprit explains that: " + causes);
        }
        if (!collected.passed.isEmpty()) {
            evidence.add(count(collected.passed.size(), "scenario") + " passed with this node");
        }
        if (collected.measured > 0) {
            evidence.add(pairs(collected.measured) + " measured");
        }
        some(collected.broken, "broke, which says nothing of the fabric", evidence);
        if (collected.notMeasured > 0) {
            evidence.add(pairs(collected.notMeasured) + " not measured, which says nothing of the fabric");
        }
        return evidence.isEmpty() ? List.of("no scenario ran here, and no pair was measured") : evidence;
    }

    private static void some(Collection<String> names, String what, List<String> evidence) {
        if (names.isEmpty()) {
            return;
        }
        String shown = names.stream().limit(MOST_NAMED).collect(Collectors.joining("; "));
        int rest = names.size() - MOST_NAMED;
        evidence.add(count(names.size(), "scenario") + " " + what + ": " + shown
                + (rest > 0 ? "; and " + rest + " more" : ""));
    }

    private static String pairs(int number) {
        return count(number, "pair") + " with this node " + (number == 1 ? "was" : "were");
    }

    private static String count(int number, String what) {
        return number + " " + what + (number == 1 ? "" : "s");
    }

    private @Nullable String action(String node, String rail, State state, Collected collected) {
        return switch (state) {
            case GOOD -> null;
            case BAD -> {
                if (collected.culprits.isEmpty()) {
                    yield "Run ./qualify --last-failed. If it fails again, check device, driver and settings of " + node
                            + " with ./rdmatest devices.";
                }
                yield collected.culprits.stream().anyMatch(Culprit.Node.class::isInstance)
                        ? "Take " + node
                                + " out of service. All of its rails are bad, so check the host first: PCIe width"
                                + " and speed, firmware, driver."
                        : "Take " + node + " out of service. Measure it again on " + rail
                                + " with two partners that are good. If it stays bad, swap the cable, then the"
                                + " transceiver, then the adapter.";
            }
            case SUSPECT ->
                "Repeat what failed with another partner. The node that fails with both partners is the bad one.";
            case UNKNOWN -> {
                String instead = run.best().instead();
                if (instead != null && isProven(collected)) {
                    yield instead;
                }
                yield collected.broken.isEmpty()
                        ? "Include " + node + " on " + rail
                                + " in a run: ./qualify --fabric FILE --pairs measures every node on every rail."
                        : "Fix what is broken on the hosts, then run ./qualify --last-failed.";
            }
        };
    }

    /** Returns the rails that are bad, and then those that are suspect. */
    List<Page.Need> needs() {
        return entries().stream()
                .flatMap(node -> node.rails().stream()
                        .filter(rail -> rail.state().compareTo(State.SUSPECT) >= 0)
                        .map(rail -> new Page.Need(
                                node.node(),
                                rail.rail(),
                                rail.state().toString(),
                                rail.evidence().getFirst(),
                                Objects.requireNonNullElse(rail.action(), ""))))
                .sorted(Comparator.comparing(Page.Need::state))
                .toList();
    }

    /** Returns the causes that belong to no single node. */
    List<Link> links() {
        return pairs.culprits().stream()
                .filter(each -> each instanceof Culprit.Path || each instanceof Culprit.Block)
                .map(NodeStates::link)
                .toList();
    }

    private static Link link(Culprit culprit) {
        boolean isPath = culprit instanceof Culprit.Path;
        return new Link(
                isPath ? "path" : "block",
                culprit.rail(),
                culprit.from(),
                culprit.to(),
                culprit.evidence().text(),
                isPath
                        ? "Measure the path again, also with other source ports: one bad link of several shows on some"
                                + " paths only."
                        : "Check the links and the switches between the leaves: error counters of their ports, and the"
                                + " number of active uplinks.");
    }

    /** Returns what limits the result, as sentences. */
    private List<String> notes() {
        List<String> notes = new ArrayList<>();
        String trouble = pairs.trouble();
        if (trouble != null) {
            notes.add("Pairs are left out: " + trouble);
        }
        some(ofNoNode, "failed without a known node", notes);
        notes.addAll(pairs.notes());
        return notes;
    }

    /** Returns the content of the file. */
    Map<String, Object> json() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("schema", SCHEMA);
        json.put("runId", run.about().runId());
        json.put("end", run.end());
        json.put("outcome", run.outcome());
        json.put("nodes", entries());
        json.put("links", links());
        json.put("notes", notes());
        return json;
    }
}
