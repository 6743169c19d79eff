package io.rdmatest.fabric;

import io.rdmatest.verbs.GidType;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.Dump;
import org.snakeyaml.engine.v2.api.DumpSettings;
import org.snakeyaml.engine.v2.common.FlowStyle;

/** Writes a fabric file that promises the values of most nodes. */
final class FabricWriter {

    /** The properties that a promise can express, by their names in the comparison. */
    private static final Set<String> PROMISED = Set.of("rate", "MTU", "GID type");

    /** The digits after the decimal point that the reader accepts. */
    private static final int DIGITS = 9;

    private final Fabric fabric;
    private final NodeComparison comparison;
    private Function<NodePort, @Nullable String> leaves = on -> null;

    FabricWriter(Fabric fabric, NodeComparison comparison) {
        this.fabric = fabric;
        this.comparison = comparison;
    }

    /** Returns the text of the file. */
    String text() {
        StringBuilder text = new StringBuilder();
        comments()
                .forEach(line -> text.append("# ")
                        // YAML does not allow other characters, not even in a comment.
                        .append(line.replaceAll("\\P{Print}", "?"))
                        .append('\n'));
        return text.append(dumped()).toString();
    }

    private String dumped() {
        DumpSettings settings = DumpSettings.builder()
                .setDefaultFlowStyle(FlowStyle.BLOCK)
                .setDereferenceAliases(true)
                .build();
        return new Dump(settings).dumpToString(fabric());
    }

    /**
     * Returns the text of a file with the promises of the fabric and with other leaves.
     *
     * @param known returns the new leaf of a port; null to keep the old one
     */
    String withLeaves(Function<NodePort, @Nullable String> known) {
        leaves = known;
        return "# Written by ./rdmatest fabric leaves.\n" + dumped();
    }

    private List<String> comments() {
        List<String> lines = new ArrayList<>();
        lines.add("Written by ./rdmatest fabric check --pin. The promises are what most nodes of each kind had.");
        lines.add("What follows is what most nodes had as well, and no promise can express.");
        for (String rail : comparison.rails()) {
            comparison.nodesOfKinds(rail).forEach((kind, nodes) -> {
                lines.add((rail.isEmpty() ? "" : "rail " + rail + ", ") + (kind.isEmpty() ? "unknown kind" : kind)
                        + ": " + String.join(", ", nodes));
                comparison.majority(rail, kind).forEach((what, value) -> {
                    if (!PROMISED.contains(what)) {
                        lines.add("  " + what + ": " + value);
                    }
                });
            });
        }
        comparison.hostsOfKinds().forEach((kind, nodes) -> {
            lines.add("hosts: " + String.join(", ", nodes));
            comparison.majorityOfHosts(kind).forEach((what, value) -> lines.add("  " + what + ": " + value));
        });
        comparison.differences().stream()
                .filter(difference -> PROMISED.contains(difference.what()))
                .forEach(difference -> lines.add("differed: " + difference.text()));
        return lines;
    }

    private Map<String, Object> fabric() {
        Map<String, Object> keys = new LinkedHashMap<>();
        keys.put("fabric", fabric.name());
        if (fabric.microvms() > 0) {
            keys.put("microvm", fabric.microvms());
        }
        if (fabric.faultsAllowed()) {
            keys.put("faults", "allowed");
        }
        thresholds().ifPresent(thresholds -> keys.put("thresholds", thresholds));
        List<Promises> all = fabric.nodes().stream()
                .flatMap(node -> node.ports().stream())
                .map(this::promises)
                .distinct()
                .toList();
        // Promises that are equal for all nodes are written once.
        boolean alike = all.size() == 1;
        if (alike) {
            putPromises(keys, all.getFirst());
        }
        keys.put(
                "nodes", fabric.nodes().stream().map(node -> node(node, !alike)).toList());
        return keys;
    }

    private Map<String, Object> node(Node node, boolean withPromises) {
        Map<String, Object> keys = new LinkedHashMap<>();
        keys.put("name", node.name());
        if (!node.isLocal()) {
            keys.put("launch", node.launch());
            if (!node.java().equals(Node.DEFAULT_JAVA)) {
                keys.put("java", node.java());
            }
            if (!node.environment().isEmpty()) {
                keys.put("environment", node.environment());
            }
        }
        Map<String, Object> rails = new LinkedHashMap<>();
        for (NodePort on : node.ports()) {
            String rail = on.rail().name();
            Map<String, Object> its = rail.isEmpty() ? keys : new LinkedHashMap<>();
            putDevice(its, on, withPromises);
            rails.put(rail, its);
        }
        if (!node.railNames().isEmpty()) {
            keys.put("rails", rails);
        }
        return keys;
    }

    private void putDevice(Map<String, Object> keys, NodePort on, boolean withPromises) {
        Rail rail = on.rail();
        keys.put("device", rail.device());
        if (rail.port() > 0) {
            keys.put("port", rail.port());
        }
        if (!rail.gid().equals(GidSelector.AUTO)) {
            Map<String, Object> gid = new LinkedHashMap<>();
            rail.gid().index().ifPresent(index -> gid.put("index", index));
            putText(gid, "type", rail.gid().type());
            putText(gid, "family", rail.gid().family());
            keys.put("gid", gid);
        }
        if (rail.address() != null) {
            keys.put("address", rail.addressText());
        }
        String leaf = leaves.apply(on);
        putText(keys, "leaf", leaf == null ? rail.leaf() : leaf);
        if (withPromises) {
            putPromises(keys, promises(on));
        }
    }

    private static void putText(Map<String, Object> keys, String key, @Nullable Object value) {
        if (value != null) {
            keys.put(key, value.toString());
        }
    }

    /** Returns the values of most nodes of the node's kind, or the promises of the file where there is no majority. */
    private Promises promises(NodePort on) {
        Promises old = on.rail().promises();
        String rail = on.rail().name();
        Map<String, List<String>> kinds = comparison.nodesOfKinds(rail);
        // A node without an answer gets the promises of the other nodes on its rail, if those are of one kind.
        Optional<String> kind = kinds.size() == 1
                ? kinds.keySet().stream().findFirst()
                : kinds.entrySet().stream()
                        .filter(entry -> entry.getValue().contains(on.node().name()))
                        .map(Map.Entry::getKey)
                        .findFirst();
        Map<String, String> most =
                kind.map(its -> comparison.majority(rail, its)).orElse(Map.of());
        return new Promises(
                old.capabilities(),
                Optional.ofNullable(most.get("rate"))
                        .flatMap(Rate::parse)
                        .map(Rate::gigabitsPerSecond)
                        .orElse(old.rate()),
                Optional.ofNullable(most.get("MTU")).map(Integer::valueOf).orElse(old.mtu()),
                Stream.of(GidSelector.Type.values())
                        .filter(type -> FabricWriter.is(type, most.get("GID type")))
                        .findFirst()
                        .orElse(old.gidType()),
                old.lossless());
    }

    private static boolean is(GidSelector.Type type, @Nullable String text) {
        return Stream.of(GidType.values())
                .anyMatch(each ->
                        each.name().equals(type.name()) && each.toString().equals(text));
    }

    private static void putPromises(Map<String, Object> keys, Promises promises) {
        Map<String, Object> its = new LinkedHashMap<>();
        if (promises.rate() > 0) {
            its.put("rate", plain(BigDecimal.valueOf(promises.rate())) + " Gb/s");
        }
        if (promises.mtu() > 0) {
            its.put("mtu", promises.mtu());
        }
        putText(its, "gid-type", promises.gidType());
        if (promises.lossless()) {
            its.put("lossless", true);
        }
        if (!promises.capabilities().isEmpty()) {
            its.put(
                    "capabilities",
                    promises.capabilities().stream().map(Object::toString).toList());
        }
        // The reader rejects a key promises without any promise.
        if (!its.isEmpty()) {
            keys.put("promises", its);
        }
    }

    private Optional<Map<String, Object>> thresholds() {
        Thresholds thresholds = fabric.thresholds();
        Map<String, Object> keys = new LinkedHashMap<>();
        Map<String, Object> roundTrip = new LinkedHashMap<>();
        thresholds.roundTrip().forEach((percentile, time) -> roundTrip.put(percentile.toString(), text(time)));
        if (!roundTrip.isEmpty()) {
            keys.put("round-trip", roundTrip);
        }
        Rate throughput = thresholds.throughput();
        if (throughput != null) {
            keys.put("throughput", plain(BigDecimal.valueOf(throughput.gigabitsPerSecond())) + " Gb/s");
        }
        if (thresholds.bandwidth() > 0) {
            keys.put(
                    "bandwidth",
                    plain(BigDecimal.valueOf(thresholds.bandwidth()).movePointRight(2)) + " %");
        }
        return keys.isEmpty() ? Optional.empty() : Optional.of(keys);
    }

    private static String text(Duration time) {
        BigDecimal nanos = BigDecimal.valueOf(time.toNanos());
        return time.compareTo(Duration.ofMillis(1)) < 0
                ? plain(nanos.movePointLeft(3)) + "us"
                : plain(nanos.movePointLeft(DIGITS)) + "s";
    }

    private static String plain(BigDecimal number) {
        return number.setScale(DIGITS, RoundingMode.HALF_UP)
                .stripTrailingZeros()
                .toPlainString();
    }
}
