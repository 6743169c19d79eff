package io.rdmatest.fabric;

import io.rdmatest.fabric.FabricCheck.Difference;
import io.rdmatest.fabric.FabricCheck.Place;
import io.rdmatest.fabric.FabricCheck.Result;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Compares the nodes of a fabric with each other. */
final class NodeComparison {

    private static final String GID_TYPE = "GID type";
    private static final Pattern MEMLOCK = Pattern.compile("Max locked memory +(\\S+)");

    /** What is compared of hosts: how the messages call it, and its key. */
    private static final Map<String, String> OF_HOSTS = new LinkedHashMap<>();

    /** What is compared of devices; a value that is not known is empty. */
    private static final Map<String, Function<Place, String>> OF_DEVICES = new LinkedHashMap<>();

    static {
        OF_HOSTS.put("kernel", "kernel");
        OF_HOSTS.put("rdma-core", "rdma-core");
        OF_HOSTS.put("limit of locked memory (ulimit -l)", "memlock");
        OF_DEVICES.put(GID_TYPE, place -> place.gidType().toString());
        OF_DEVICES.put("MTU", place -> place.mtu() == 0 ? "" : Integer.toString(place.mtu()));
        OF_DEVICES.put(
                "rate",
                place -> place.rateGbps() == 0
                        ? ""
                        : BigDecimal.valueOf(place.rateGbps())
                                        .stripTrailingZeros()
                                        .toPlainString() + " Gb/s");
        OF_DEVICES.put("driver", Place::driver);
        OF_DEVICES.put("firmware", Place::firmware);
    }

    private NodeComparison() {}

    static List<Difference> of(List<Result> results) {
        List<Difference> differences = new ArrayList<>();
        Set<String> rails = new LinkedHashSet<>();
        results.forEach(result -> result.places().forEach(place -> rails.add(place.rail())));
        for (String rail : rails) {
            OF_DEVICES.forEach((what, value) -> compare(
                    differences,
                    what,
                    rail,
                    results,
                    result -> result.places().stream()
                            .filter(place -> place.rail().equals(rail))
                            .map(value)
                            .findFirst()
                            .orElse("")));
        }
        OF_HOSTS.forEach((what, key) ->
                compare(differences, what, "", results, result -> result.host().getOrDefault(key, "")));
        return List.copyOf(differences);
    }

    private static void compare(
            List<Difference> differences,
            String what,
            String rail,
            List<Result> results,
            Function<Result, String> value) {
        Map<String, List<String>> found = new LinkedHashMap<>();
        for (Result result : results) {
            String its = value.apply(result);
            if (!its.isEmpty()) {
                found.computeIfAbsent(its, any -> new ArrayList<>())
                        .add(result.node().name());
            }
        }
        if (found.size() < 2) {
            return;
        }
        // A stable sort: of two that equally many nodes have, the one of the first node is the first.
        Map<String, List<String>> values = found.entrySet().stream()
                .sorted(Comparator.comparingInt(entry -> -entry.getValue().size()))
                .collect(Collectors.toMap(
                        Map.Entry::getKey, entry -> List.copyOf(entry.getValue()), (a, b) -> a, LinkedHashMap::new));
        boolean separates = what.equals(GID_TYPE);
        differences.add(new Difference(
                what,
                rail,
                Collections.unmodifiableMap(values),
                separates,
                (rail.isEmpty() ? "" : "rail " + rail + ": ") + what + " is " + text(values)
                        + (separates
                                ? "; nodes of different types can't talk to each other: give them one gid type"
                                : "")));
    }

    private static String text(Map<String, List<String>> values) {
        List<Map.Entry<String, List<String>>> entries = List.copyOf(values.entrySet());
        int most = entries.getFirst().getValue().size();
        boolean majority = most > entries.get(1).getValue().size();
        Stream<String> others = entries.stream()
                .skip(majority ? 1 : 0)
                .map(entry -> entry.getKey() + " on " + String.join(", ", entry.getValue()));
        return (majority ? entries.getFirst().getKey() + " on " + most + " nodes, but " : "")
                + others.collect(Collectors.joining(", and "));
    }

    /** Returns the limit of locked memory of this process as ulimit(1) tells it, in KiB; empty if it is not known. */
    static String memlockHere() {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/limits"))) {
            return lines.map(MEMLOCK::matcher)
                    .filter(Matcher::find)
                    .map(matcher -> matcher.group(1))
                    .map(bytes -> bytes.matches("\\d+") ? Long.toString(Long.parseLong(bytes) / 1024) : bytes)
                    .findFirst()
                    .orElse("");
        } catch (IOException | UncheckedIOException e) {
            return "";
        }
    }
}
