package io.rdmatest.report;

import com.fasterxml.jackson.annotation.JsonValue;
import io.rdmatest.scenarios.culprits.Culprit;
import io.rdmatest.scenarios.culprits.PairLine;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Decides what a run says of each node: the content of {@code nodes.json}. */
final class NodeStates {

    /** The name of the form with its version. */
    static final String SCHEMA = "nodes/1";

    /** How many names of scenarios a sentence has. */
    private static final int MOST_NAMED = 3;

    /** How scenarios name their sides. */
    private static final Pattern SIDE = Pattern.compile("node (\\S+)");

    /** What is known of a node; the worst evidence counts. */
    enum State {
        /** Nothing was judged that concerns the node alone. */
        UNKNOWN,
        /** What was judged on it passed. */
        GOOD,
        /** Something failed that concerns it and another node, and nothing tells them apart. */
        SUSPECT,
        /** The evidence names it. */
        BAD;

        @JsonValue
        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * A node.
     *
     * @param node its name
     * @param state what is known of it
     * @param evidence why, a sentence each; never empty
     * @param action what to do; null for a good node
     */
    record Entry(String node, State state, List<String> evidence, @Nullable String action) {}

    /**
     * A cause that is no node's: a path or a block.
     *
     * @param name what it is called
     * @param evidence why, in a sentence
     * @param action what to do
     */
    record Link(String name, String evidence, String action) {}

    private static final class Collected {
        private final Set<String> passed = new LinkedHashSet<>();
        private final Set<String> failedAlone = new LinkedHashSet<>();
        private final Map<String, String> failedWith = new LinkedHashMap<>();
        private final Set<String> broken = new LinkedHashSet<>();
        private final List<Culprit> culprits = new ArrayList<>();
        private final List<Culprit> paths = new ArrayList<>();
        private int unexplained;
    }

    private final Run run;
    private final Ports ports;
    private final Map<String, Collected> nodes = new LinkedHashMap<>();

    NodeStates(Run run, Ports ports) {
        this.run = run;
        this.ports = ports;
        run.about().nodes().forEach(node -> nodes.put(node.name(), new Collected()));
        ports.nodes().forEach(node -> nodes.computeIfAbsent(node, ignored -> new Collected()));
        run.scenarios().forEach(this::collect);
        ports.culprits().causes().forEach(this::collect);
        for (PairLine cell : ports.culprits().unexplained()) {
            nodes.getOrDefault(cell.from(), new Collected()).unexplained++;
            nodes.getOrDefault(cell.to(), new Collected()).unexplained++;
        }
    }

    private void collect(Run.Scenario scenario) {
        List<String> sides = Stream.of("client", "server")
                .map(side -> SIDE.matcher(scenario.parameters.getOrDefault(side, "")))
                .filter(Matcher::find)
                .map(side -> side.group(1))
                .filter(nodes::containsKey)
                .distinct()
                .toList();
        // On a fabric of one node everything is on that node.
        List<String> on = sides.isEmpty() && nodes.size() == 1 ? List.copyOf(nodes.keySet()) : sides;
        for (String node : on) {
            Collected collected = nodes.getOrDefault(node, new Collected());
            switch (scenario.verdict) {
                case PASSED -> collected.passed.add(scenario.name);
                case BROKEN -> collected.broken.add(scenario.name);
                case FAILED -> {
                    String other = on.stream()
                            .filter(each -> !each.equals(node))
                            .findFirst()
                            .orElse("");
                    if (other.isEmpty()) {
                        collected.failedAlone.add(scenario.name);
                    } else {
                        String ignored = collected.failedWith.put(scenario.name, other);
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
            case Culprit.Node node -> nodes.getOrDefault(node.node(), new Collected()).culprits.add(culprit);
            case Culprit.Port port -> nodes.getOrDefault(port.node(), new Collected()).culprits.add(culprit);
            case Culprit.Path path -> {
                nodes.getOrDefault(path.from(), new Collected()).paths.add(culprit);
                nodes.getOrDefault(path.to(), new Collected()).paths.add(culprit);
            }
            case Culprit.Block ignored -> {
                // What lies between leaves is no node's: it is among the links.
            }
        }
    }

    /** Returns the nodes in the order of the fabric's file. */
    List<Entry> entries() {
        List<Entry> entries = new ArrayList<>();
        nodes.forEach((name, collected) -> entries.add(entry(name, collected)));
        return entries;
    }

    private Entry entry(String node, Collected collected) {
        Map<PairLine.Outcome, Integer> cells = ports.outcomes(node);
        int measured = cells.getOrDefault(PairLine.Outcome.MEASURED, 0);
        int notMeasured = cells.getOrDefault(PairLine.Outcome.NOT_MEASURED, 0);
        List<String> evidence = new ArrayList<>();
        State state = State.UNKNOWN;
        if (!collected.culprits.isEmpty() || !collected.failedAlone.isEmpty()) {
            state = State.BAD;
        } else if (!collected.failedWith.isEmpty() || !collected.paths.isEmpty() || collected.unexplained > 0) {
            state = State.SUSPECT;
        } else if (!collected.passed.isEmpty() || measured > 0) {
            state = State.GOOD;
        }
        collected.culprits.forEach(each -> evidence.add(each.name() + ": " + each.evidence().text()));
        if (!collected.failedAlone.isEmpty()) {
            evidence.add(some("failed on this node alone", collected.failedAlone));
        }
        collected.failedWith.values().stream().distinct().forEach(other -> evidence.add(some(
                "failed between this node and " + other,
                collected.failedWith.entrySet().stream()
                        .filter(each -> each.getValue().equals(other))
                        .map(Map.Entry::getKey)
                        .toList())));
        collected.paths.forEach(each -> evidence.add(each.name() + ": " + each.evidence().text()));
        if (collected.unexplained > 0) {
            evidence.add(collected.unexplained + " bad pairs with this node that no cause explains");
        }
        if (!collected.passed.isEmpty()) {
            evidence.add(collected.passed.size() + " scenarios passed with this node");
        }
        if (measured > 0) {
            evidence.add(measured + " pairs with this node were measured");
        }
        if (!collected.broken.isEmpty()) {
            evidence.add(some("broken, which says nothing of the fabric", collected.broken));
        }
        if (notMeasured > 0) {
            evidence.add(notMeasured + " pairs with this node were not measured");
        }
        if (evidence.isEmpty()) {
            evidence.add("no scenario ran on this node");
        }
        return new Entry(node, state, evidence, action(node, state, collected));
    }

    private static String some(String what, Collection<String> names) {
        String shown = String.join("; ", names.stream().limit(MOST_NAMED).toList());
        int rest = names.size() - MOST_NAMED;
        return names.size() + " scenarios " + what + ": " + shown + (rest > 0 ? "; and " + rest + " more" : "");
    }

    private static @Nullable String action(String node, State state, Collected collected) {
        return switch (state) {
            case GOOD -> null;
            case BAD ->
                collected.culprits.isEmpty()
                        ? "Repeat what failed with ./qualify --last-failed. If it fails again, check device, driver and settings of "
                                + node + " with ./rdmatest devices."
                        : "Take " + node + " out of service. Measure it again with two partners that are good. If it stays bad,"
                                + " swap the cable of the named port, then the transceiver, then the adapter.";
            case SUSPECT ->
                "Repeat what failed with another partner, with ./qualify --server NODE --client NODE --last-failed: the node that"
                        + " fails with both is the bad one.";
            case UNKNOWN ->
                collected.broken.isEmpty()
                        ? "Include " + node + " in a run: ./qualify --fabric FILE --pairs measures every node."
                        : "Fix what is broken on the hosts, and run again: ./qualify --last-failed.";
        };
    }

    /** Returns the causes that are no node's. */
    List<Link> links() {
        List<Link> links = new ArrayList<>();
        for (Culprit culprit : ports.culprits().causes()) {
            String action =
                    switch (culprit) {
                        case Culprit.Block ignored ->
                            "Check the links and the switches between the leaves: error counters of their ports, and"
                                    + " the number of active uplinks.";
                        case Culprit.Path ignored ->
                            "Measure the path again, and with other source ports: one bad link of several shows on some"
                                    + " paths only.";
                        case Culprit.Node ignored -> "";
                        case Culprit.Port ignored -> "";
                    };
            if (!action.isEmpty()) {
                links.add(new Link(culprit.name(), culprit.evidence().text(), action));
            }
        }
        return links;
    }

    /** Returns the content of the file. */
    Map<String, Object> json() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("schema", SCHEMA);
        json.put("runId", run.about().runId());
        json.put("end", run.end());
        json.put("nodes", entries());
        json.put("links", links());
        return json;
    }
}
