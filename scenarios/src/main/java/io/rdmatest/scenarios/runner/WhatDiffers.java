package io.rdmatest.scenarios.runner;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.Deadline;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricCheck;
import io.rdmatest.fabric.FabricCheck.Difference;
import io.rdmatest.fabric.FabricCheck.Kind;
import io.rdmatest.fabric.FabricCheck.Result;
import io.rdmatest.fabric.FabricCheck.Unknown;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.fabric.Node;
import io.rdmatest.fabric.NodePair;
import io.rdmatest.report.run.JsonFile;
import io.rdmatest.scenarios.ScenarioSettings;
import io.rdmatest.scenarios.Stage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The differences between the nodes of a run, as {@code ./rdmatest fabric check} finds them. The JVM of the scenarios gathers
 * them before any measurement. They become the member {@code differs} of {@code nodes.json}.
 */
public final class WhatDiffers {

    /** System property: the file to which the JVM of the scenarios writes them. */
    public static final String FILE = "rdma.differs.file";

    /** The name of that file, which is beside the run's journal. */
    private static final String NAME = "differs.json";

    /** With 16 nodes at once and one second for each, enough for several thousand. */
    private static final Duration LIMIT = Duration.ofMinutes(5);

    /** How long a virtual machine of the project has for its answer: it may just have begun to boot, in emulation. */
    private static final Duration OF_MACHINES = Duration.ofMinutes(2);

    private static final ObjectMapper MAPPER = new ObjectMapper();

    /** The largest number of differing properties that one line names. */
    private static final int MOST_NAMED = 5;

    /** The largest number of nodes that are named for each property. */
    private static final int MOST_NODES = 3;

    private WhatDiffers() {}

    /** Returns where the file is, in the folder of the run's journal. */
    public static Path in(Path folder) {
        return folder.resolve(NAME);
    }

    /**
     * Asks the nodes of the run and writes what differs, if the run has two or more nodes. If they can't be asked, the message
     * becomes the text.
     *
     * @throws IOException if the file can't be written
     * @throws FabricException if the run needs a node that can't be used: it says which and why, as {@code ./rdmatest fabric check}
     */
    public static void gather() throws IOException {
        String property = System.getProperty(FILE);
        if (property == null || Files.exists(Path.of(property))) {
            // No file was asked for, or an earlier JVM of this run has gathered the differences.
            return;
        }
        Fabric fabric = Fabric.load();
        List<Node> nodes = nodes(fabric);
        if (nodes.size() > 1) {
            long deadline = Deadline.end(LIMIT);
            List<Result> results = new ArrayList<>();
            JsonFile.write(Path.of(property), json(fabric, nodes, () -> Deadline.isOver(deadline), results::addAll));
            requireUsable(results, Boolean.getBoolean(ScenarioSettings.PAIRS));
        }
    }

    /**
     * Ends a run that lacks what it needs, before its first scenario.
     *
     * @param pairs whether all pairs are measured: then this host and one other node are enough, and the pairs name the others.
     *     But no two nodes may be one, because a pair of them would be measured as if it were good
     * @throws FabricException names the nodes that can't be used, and why
     */
    static void requireUsable(List<Result> results, boolean pairs) {
        List<String> unusable =
                results.stream().map(Result::unusable).flatMap(Optional::stream).toList();
        boolean enough = pairs
                && results.size() - unusable.size() > 1
                // Pairs are measured from the first local node: any other is one like those of other hosts.
                && results.stream()
                        .filter(result -> result.node().isLocal())
                        .limit(1)
                        .allMatch(result -> result.unusable().isEmpty())
                && results.stream()
                        .flatMap(result -> result.problems().stream())
                        .noneMatch(problem -> problem.kind() == Kind.DUPLICATE);
        if (!unusable.isEmpty() && !enough) {
            throw new FabricException(String.join(System.lineSeparator(), unusable));
        }
    }

    private static List<Node> nodes(Fabric fabric) {
        if (Boolean.getBoolean(ScenarioSettings.PAIRS)) {
            return fabric.nodes();
        }
        NodePair pair = fabric.pair(System.getProperty(Stage.SERVER), System.getProperty(Stage.CLIENT));
        return Stream.of(pair.server(), pair.client()).distinct().toList();
    }

    /**
     * Asks nodes, and returns what differs between those that answered.
     *
     * @param over returns whether the time of all nodes together is over: those without an answer are not compared
     */
    public static Map<String, @Nullable Object> json(Fabric fabric, List<Node> nodes, BooleanSupplier over) {
        return json(fabric, nodes, over, results -> {});
    }

    private static Map<String, @Nullable Object> json(
            Fabric fabric, List<Node> nodes, BooleanSupplier over, Consumer<List<Result>> taker) {
        try {
            List<Result> results = FabricCheck.ask(
                    fabric, nodes, fabric.microvms() > 0 ? OF_MACHINES : FabricCheck.DEFAULT_TIMEOUT, over);
            taker.accept(results);
            return json(results);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return nothing("The nodes were not compared: the run was interrupted.");
        } catch (RuntimeException e) {
            return nothing("The nodes were not compared: " + (e.getMessage() == null ? e : e.getMessage()));
        }
    }

    private static Map<String, @Nullable Object> nothing(String message) {
        return json(null, message, 0, List.of(), List.of(), List.of(), List.of());
    }

    /**
     * Returns what differs.
     *
     * @param results what the nodes of a run say of themselves
     */
    public static Map<String, @Nullable Object> json(List<Result> results) {
        List<Result> found =
                results.stream().filter(result -> !result.places().isEmpty()).toList();
        List<Map<String, Object>> silent = results.stream()
                .filter(result -> result.places().isEmpty())
                .map(WhatDiffers::silent)
                .toList();
        if (found.size() < 2) {
            return json(
                    null,
                    "The nodes were not compared: " + found.size() + " of " + results.size()
                            + " nodes reported a device. ./rdmatest fabric check FILE says what is wrong.",
                    found.size(),
                    List.of(),
                    List.of(),
                    List.of(),
                    silent);
        }
        List<Difference> differences = FabricCheck.differences(found);
        List<Map<String, Object>> below = below(found);
        boolean alike = differences.isEmpty() && below.isEmpty();
        String without = silent.isEmpty()
                ? ""
                : " Not compared: " + some(silent.stream().map(each -> (String) each.get("node"))) + ".";
        return json(
                alike,
                (alike
                                ? found.size() + " nodes are alike in host, device and settings."
                                : "Nodes differ: " + named(differences, below) + ".")
                        + without,
                found.size(),
                differences.stream().map(WhatDiffers::json).toList(),
                below,
                FabricCheck.unknown(found).stream().map(WhatDiffers::json).toList(),
                silent);
    }

    private static Map<String, @Nullable Object> json(
            @Nullable Boolean alike,
            String message,
            int compared,
            List<Map<String, Object>> differences,
            List<Map<String, Object>> below,
            List<Map<String, Object>> unknown,
            List<Map<String, Object>> silent) {
        Map<String, @Nullable Object> json = new LinkedHashMap<>();
        json.put("alike", alike);
        json.put("message", message);
        json.put("compared", compared);
        json.put("differences", differences);
        json.put("belowCapability", below);
        json.put("unknown", unknown);
        json.put("notCompared", silent);
        return json;
    }

    /** Names what differs and the odd nodes, as in {@code firmware (n3), PCIe width (n3, n7)}. */
    private static String named(List<Difference> differences, List<Map<String, Object>> below) {
        Map<String, List<String>> odd = new LinkedHashMap<>();
        for (Difference difference : differences) {
            List<List<String>> values = List.copyOf(difference.values().values());
            // Where two values are equally frequent, none is odd.
            boolean majority =
                    values.size() > 1 && values.get(0).size() > values.get(1).size();
            values.stream()
                    .skip(majority ? 1 : 0)
                    .flatMap(List::stream)
                    .forEach(node -> odd.computeIfAbsent(difference.what(), ignored -> new ArrayList<>())
                            .add(node));
        }
        below.forEach(each -> odd.computeIfAbsent("below the capability of the device", ignored -> new ArrayList<>())
                .add((String) Objects.requireNonNull(each.get("node"))));
        String shown = odd.entrySet().stream()
                .limit(MOST_NAMED)
                .map(each ->
                        each.getKey() + " (" + some(each.getValue().stream().distinct()) + ")")
                .collect(Collectors.joining(", "));
        return odd.size() > MOST_NAMED ? shown + ", and " + (odd.size() - MOST_NAMED) + " more" : shown;
    }

    private static String some(Stream<String> nodes) {
        List<String> all = nodes.toList();
        return all.size() > MOST_NODES
                ? String.join(", ", all.subList(0, MOST_NODES)) + " and " + (all.size() - MOST_NODES) + " more"
                : String.join(", ", all);
    }

    private static Map<String, Object> silent(Result result) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("node", result.node().name());
        json.put(
                "reason",
                result.problems().isEmpty()
                        ? "it reported no device"
                        : result.problems().getFirst().text());
        return json;
    }

    private static List<Map<String, Object>> below(List<Result> results) {
        List<Map<String, Object>> found = new ArrayList<>();
        results.forEach(result -> result.places()
                .forEach(place -> place.belowCapability().forEach(text -> {
                    Map<String, Object> json = new LinkedHashMap<>();
                    json.put("node", result.node().name());
                    json.put("rail", place.rail());
                    json.put("message", text);
                    found.add(json);
                })));
        return found;
    }

    private static Map<String, Object> json(Difference difference) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("what", difference.what());
        json.put("rail", difference.rail());
        json.put("kind", difference.kind());
        json.put("values", difference.values());
        json.put("separates", difference.separates());
        json.put("message", difference.text());
        json.put("odd", difference.odd());
        json.put("show", difference.show());
        json.put("cure", difference.cure());
        return json;
    }

    private static Map<String, Object> json(Unknown unknown) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("rail", unknown.rail());
        json.put("nodes", unknown.nodes());
        json.put("what", unknown.what());
        json.put("message", unknown.text());
        return json;
    }

    /**
     * Reads what was gathered.
     *
     * @param file what {@link #gather} has written
     * @return null if there is nothing: the run has one node, or ended before
     */
    public static @Nullable JsonNode read(Path file) {
        if (!Files.exists(file)) {
            return null;
        }
        try {
            return MAPPER.readTree(file.toFile());
        } catch (IOException e) {
            return MAPPER.valueToTree(nothing("The nodes were not compared: " + file + " can't be read: " + e));
        }
    }
}
