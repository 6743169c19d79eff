package io.rdmatest.fabric;

import io.rdmatest.fabric.FabricCheck.Difference;
import io.rdmatest.fabric.FabricCheck.Place;
import io.rdmatest.fabric.FabricCheck.Result;
import io.rdmatest.fabric.FabricCheck.Unknown;
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
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Compares the nodes of a fabric with each other. */
final class NodeComparison {

    /** The nodes among which a value is compared. */
    private enum Among {
        /** All nodes of a rail. Nodes with different values can't talk to each other. */
        ALL_OR_SEPARATED,
        /** All nodes of a rail. */
        ALL,
        /** The nodes of a rail that have the same driver and board. */
        KIND
    }

    /**
     * A property of a device that is compared.
     *
     * @param what its name in messages
     * @param among the nodes among which it is compared
     * @param value its text; empty if it is not known
     * @param show the command that shows it, with places in braces that {@link #fill} knows
     * @param cure what to do on a node with another value, with the same places in braces
     */
    private record OfDevice(String what, Among among, Function<Place, String> value, String show, String cure) {}

    /** A property of a host that is compared. Its value is that of a key. */
    private record OfHost(String what, String key, String show, String cure) {}

    private static final String DEVICE = "/sys/class/infiniband/{device}/";
    private static final String PORT = DEVICE + "ports/{port}/";
    private static final String SLOT =
            "reseat the card; compare its slot, riser and the host's firmware setup with those of the other nodes";
    private static final String QOS = "mlnx_qos -i {adapterInterface}";

    private static final List<OfHost> OF_HOSTS = List.of(
            new OfHost("kernel", "kernel", "uname -sr", "install the kernel of the other nodes and boot it"),
            new OfHost(
                    "rdma-core",
                    "rdma-core",
                    "readlink -f on librdmacm.so.1",
                    "install the rdma-core of the other nodes, or name its folder in the node's environment: LD_LIBRARY_PATH"),
            new OfHost(
                    "limit of locked memory (ulimit -l)",
                    "memlock",
                    "ulimit -l",
                    "set memlock in /etc/security/limits.conf, or for a service LimitMEMLOCK, and log in again"));

    private static final List<OfDevice> OF_DEVICES = List.of(
            new OfDevice(
                    "GID type",
                    Among.ALL_OR_SEPARATED,
                    place -> place.gidType().toString(),
                    "cat " + PORT + "gid_attrs/types/{gid}",
                    "name the type in the node's key gid"),
            new OfDevice(
                    "MTU",
                    Among.ALL,
                    place -> place.mtu() == 0 ? "" : Integer.toString(place.mtu()),
                    "ibv_devinfo -d {device} -i {port}",
                    "give the interface an MTU of more than {value} bytes (ip link set dev {interface} mtu BYTES); on"
                            + " InfiniBand the subnet manager sets it"),
            new OfDevice(
                    "rate",
                    Among.KIND,
                    place -> place.rateGbps() == 0
                            ? ""
                            : BigDecimal.valueOf(place.rateGbps())
                                            .stripTrailingZeros()
                                            .toPlainString() + " Gb/s",
                    "cat " + PORT + "rate",
                    "check cable, switch port and autonegotiation (ethtool {interface}; on InfiniBand iblinkinfo)"),
            new OfDevice(
                    "driver",
                    Among.ALL,
                    Place::driver,
                    "readlink " + DEVICE + "device/driver",
                    "none: nodes with another card are compared among themselves"),
            new OfDevice(
                    "board",
                    Among.ALL,
                    setting("board"),
                    "cat " + DEVICE + "board_id",
                    "none: nodes with another card are compared among themselves"),
            new OfDevice(
                    "firmware",
                    Among.KIND,
                    Place::firmware,
                    "cat " + DEVICE + "fw_ver",
                    "flash {value} with the vendor's tool (NVIDIA: mlxfwmanager or flint), and reset the card"),
            new OfDevice(
                    "GID index",
                    Among.KIND,
                    place -> Integer.toString(place.gidIndex()),
                    "cat " + PORT + "gids/{gid}",
                    "give the interface the same kinds of addresses as on the other nodes, or let programs select the GID by"
                            + " its type instead of the index"),
            new OfDevice(
                    "MTU of the interface",
                    Among.ALL,
                    setting("interfaceMtu"),
                    "cat /sys/class/net/{interface}/mtu",
                    "ip link set dev {interface} mtu {value}"),
            new OfDevice(
                    "PCIe speed",
                    Among.KIND,
                    setting("pcieSpeed"),
                    "cat " + DEVICE + "device/current_link_speed",
                    SLOT),
            new OfDevice(
                    "PCIe width",
                    Among.KIND,
                    place -> lanes(place, "pcieWidth"),
                    "cat " + DEVICE + "device/current_link_width",
                    SLOT),
            new OfDevice(
                    "NUMA node",
                    Among.KIND,
                    setting("numaNode"),
                    "cat " + DEVICE + "device/numa_node",
                    "put the card into the slot that it has on the other nodes, and set NUMA alike in the host's firmware setup"),
            new OfDevice(
                    "ACS",
                    Among.KIND,
                    setting("acs"),
                    "setpci -s {acsBridge} ECAP_ACS+6.w",
                    "set it alike in the host's firmware setup; setpci -s {acsBridge} ECAP_ACS+6.w=0000 switches it off until"
                            + " the next boot, where no virtual machine needs it"),
            new OfDevice(
                    "relaxed ordering",
                    Among.KIND,
                    setting("relaxedOrdering"),
                    "setpci -s {pcieAddress} CAP_EXP+8.w (bit 4)",
                    "set it alike in the host's firmware setup; setpci -s {pcieAddress} CAP_EXP+8.w=0010:0010 switches it on"
                            + " until the next boot"),
            new OfDevice("trust mode", Among.KIND, setting("trust"), QOS, QOS + " --trust {value}"),
            new OfDevice(
                    "PFC",
                    Among.KIND,
                    setting("pfc"),
                    QOS + ", or dcb pfc show dev {adapterInterface}",
                    QOS + " --pfc {value}, or dcb pfc set"),
            new OfDevice(
                    "DSCP map",
                    Among.KIND,
                    setting("dscpMap"),
                    QOS,
                    QOS + " --dscp2prio set,DSCP,PRIORITY for each that differs"),
            new OfDevice(
                    "DSCP entries",
                    Among.KIND,
                    setting("dscpEntries"),
                    "dcb -N app show dev {adapterInterface} dscp-prio",
                    "dcb app replace dev {adapterInterface} dscp-prio DSCP:PRIORITY for each that differs"),
            new OfDevice(
                    "ECN",
                    Among.KIND,
                    setting("ecn"),
                    "grep . /sys/class/net/{adapterInterface}/ecn/roce_*/enable/*",
                    "write 1 or 0 to these files, one for each priority"));

    private static final Pattern MEMLOCK = Pattern.compile("Max locked memory +(\\S+)");
    private static final Pattern NUMBER = Pattern.compile("^\\d{1,6}(\\.\\d{1,3})?");
    private static final Pattern BLANK = Pattern.compile("\\{(\\w+)}");

    /** A node's value of a property. */
    private record Found(
            String node, String value, @Nullable Place place) {}

    private final List<Result> results;

    /** The driver and board of each node, by rail and node. */
    private final Map<String, Map<String, String>> kinds = new LinkedHashMap<>();

    /** The kind of each host: the kinds of its devices. */
    private final Map<String, String> kindsOfHosts;

    private final List<Difference> differences = new ArrayList<>();

    /** The properties that some nodes do not report, by the rail and these nodes. */
    private final Map<String, Map<List<String>, List<String>>> silent = new LinkedHashMap<>();

    /** The values of most nodes, by rail, kind and property. Properties without a majority are missing. */
    private final Map<String, Map<String, Map<String, String>>> majorities = new LinkedHashMap<>();

    NodeComparison(List<Result> results) {
        this.results = results;
        results.forEach(result ->
                result.places().forEach(place -> kinds.computeIfAbsent(place.rail(), NodeComparison::inOrder)));
        kinds.replaceAll((rail, empty) -> kinds(places(rail)));
        kindsOfHosts = kindsOfHosts();
        for (String rail : kinds.keySet()) {
            Map<String, Place> places = places(rail);
            Map<String, String> kindOf = kinds.getOrDefault(rail, Map.of());
            for (OfDevice each : OF_DEVICES) {
                List<Found> found = new ArrayList<>();
                places.forEach(
                        (node, place) -> found.add(new Found(node, each.value().apply(place), place)));
                if (each.among() != Among.KIND) {
                    boolean separates = each.among() == Among.ALL_OR_SEPARATED;
                    compare(each.what(), rail, "", found, separates, each.show(), each.cure());
                }
                groups(found, kindOf).forEach((kind, those) -> {
                    if (each.among() == Among.KIND) {
                        compare(each.what(), rail, only(kindOf, kind), those, false, each.show(), each.cure());
                    }
                    noteSilent(each.what(), rail, those);
                    majority(those)
                            .ifPresent(most -> majorities
                                    .computeIfAbsent(rail, NodeComparison::inOrder)
                                    .computeIfAbsent(kind, NodeComparison::inOrder)
                                    .put(each.what(), most));
                });
            }
        }
        for (OfHost each : OF_HOSTS) {
            List<Found> found = results.stream()
                    .filter(result -> !result.host().isEmpty())
                    .map(result -> new Found(result.node().name(), result.host().getOrDefault(each.key(), ""), null))
                    .toList();
            groups(found, kindsOfHosts).forEach((kind, those) -> {
                noteSilent(each.what(), "", those);
                compare(each.what(), "", only(kindsOfHosts, kind), those, false, each.show(), each.cure());
            });
        }
    }

    private static <K, V> Map<K, V> inOrder(Object key) {
        return new LinkedHashMap<>();
    }

    /** The places on a rail, by node. */
    private Map<String, Place> places(String rail) {
        Map<String, Place> places = new LinkedHashMap<>();
        results.forEach(result -> result.places().stream()
                .filter(place -> place.rail().equals(rail))
                .forEach(place -> places.put(result.node().name(), place)));
        return places;
    }

    private static Map<String, String> kinds(Map<String, Place> places) {
        Map<String, String> kinds = new LinkedHashMap<>();
        places.forEach((node, place) -> {
            String board = place.settings().getOrDefault("board", "");
            // A card that does not report its board counts as the board of the other cards with its driver, if those
            // are alike.
            Set<String> boards = places.values().stream()
                    .filter(other -> other.driver().equals(place.driver()))
                    .map(other -> other.settings().getOrDefault("board", ""))
                    .filter(other -> !other.isEmpty())
                    .collect(Collectors.toSet());
            String taken =
                    board.isEmpty() && boards.size() == 1 ? boards.iterator().next() : board;
            kinds.put(node, (place.driver() + " " + taken).strip());
        });
        return withoutUnknown(kinds);
    }

    private Map<String, String> kindsOfHosts() {
        Map<String, String> hosts = new LinkedHashMap<>();
        results.stream()
                .filter(result -> !result.host().isEmpty())
                .forEach(result -> hosts.put(
                        result.node().name(),
                        kinds.values().stream()
                                .map(rail -> rail.getOrDefault(result.node().name(), ""))
                                .filter(kind -> !kind.isEmpty())
                                .distinct()
                                .sorted()
                                .collect(Collectors.joining(", "))));
        return withoutUnknown(hosts);
    }

    /** Gives nodes of unknown kind the only known kind, if there is exactly one. */
    private static Map<String, String> withoutUnknown(Map<String, String> kinds) {
        Set<String> known = new LinkedHashSet<>(kinds.values());
        known.remove("");
        if (known.size() == 1) {
            kinds.replaceAll((node, kind) -> known.iterator().next());
        }
        return kinds;
    }

    /** Returns the name of a kind if there are several kinds; otherwise an empty name. */
    private static String only(Map<String, String> kindOf, String kind) {
        return kindOf.values().stream().distinct().count() > 1 ? kind : "";
    }

    private static Map<String, List<Found>> groups(List<Found> found, Map<String, String> kindOf) {
        return found.stream()
                .collect(Collectors.groupingBy(
                        each -> kindOf.getOrDefault(each.node(), ""), LinkedHashMap::new, Collectors.toList()));
    }

    List<Difference> differences() {
        return List.copyOf(differences);
    }

    List<Unknown> unknown() {
        List<Unknown> unknown = new ArrayList<>();
        silent.forEach((rail, by) -> by.forEach((nodes, what) -> unknown.add(new Unknown(
                rail,
                nodes,
                List.copyOf(what),
                Rail.prefix(rail) + String.join(", ", nodes) + (nodes.size() == 1 ? " does" : " do") + " not report "
                        + String.join(", ", what)))));
        return List.copyOf(unknown);
    }

    /** Returns the values of most nodes of a kind on a rail, by property. Properties with a tie are left out. */
    Map<String, String> majority(String rail, String kind) {
        return Collections.unmodifiableMap(
                majorities.getOrDefault(rail, Map.of()).getOrDefault(kind, Map.of()));
    }

    /** Returns the values of most hosts of a kind, by property. */
    Map<String, String> majorityOfHosts(String kind) {
        Map<String, String> most = new LinkedHashMap<>();
        for (OfHost each : OF_HOSTS) {
            majority(results.stream()
                            .filter(result -> kindsOfHosts
                                    .getOrDefault(result.node().name(), "")
                                    .equals(kind))
                            .map(result -> new Found(
                                    result.node().name(), result.host().getOrDefault(each.key(), ""), null))
                            .toList())
                    .ifPresent(value -> most.put(each.what(), value));
        }
        return most;
    }

    /** Returns the nodes of each kind on a rail. */
    Map<String, List<String>> nodesOfKinds(String rail) {
        return byKind(kinds.getOrDefault(rail, Map.of()));
    }

    /** Returns the nodes of each kind of host. */
    Map<String, List<String>> hostsOfKinds() {
        return byKind(kindsOfHosts);
    }

    private static Map<String, List<String>> byKind(Map<String, String> kindOf) {
        Map<String, List<String>> nodes = new LinkedHashMap<>();
        kindOf.forEach((node, kind) ->
                nodes.computeIfAbsent(kind, any -> new ArrayList<>()).add(node));
        return nodes;
    }

    /** Returns the rails on which devices were found. */
    Set<String> rails() {
        return Collections.unmodifiableSet(kinds.keySet());
    }

    /**
     * Returns the nodes with each value, the most frequent value first. If two values are equally frequent, the value of the
     * earlier node is first.
     */
    private static Map<String, List<String>> values(List<Found> found) {
        Map<String, List<String>> values = new LinkedHashMap<>();
        found.stream()
                .filter(each -> !each.value().isEmpty())
                .forEach(each -> values.computeIfAbsent(each.value(), any -> new ArrayList<>())
                        .add(each.node()));
        return values.entrySet().stream()
                .sorted(Comparator.comparingInt(entry -> -entry.getValue().size()))
                .collect(Collectors.toMap(
                        Map.Entry::getKey, entry -> List.copyOf(entry.getValue()), (a, b) -> a, LinkedHashMap::new));
    }

    private static boolean hasMajority(Map<String, List<String>> values) {
        List<List<String>> nodes = List.copyOf(values.values());
        return nodes.size() == 1
                || nodes.size() > 1 && nodes.getFirst().size() > nodes.get(1).size();
    }

    private static Optional<String> majority(List<Found> found) {
        Map<String, List<String>> values = values(found);
        return hasMajority(values) ? values.keySet().stream().findFirst() : Optional.empty();
    }

    private void compare(
            String what, String rail, String kind, List<Found> found, boolean separates, String show, String cure) {
        Map<String, List<String>> values = values(found);
        if (values.size() < 2) {
            return;
        }
        boolean majority = hasMajority(values);
        String most = values.keySet().iterator().next();
        Found odd = found.stream()
                .filter(each -> !each.value().isEmpty() && !each.value().equals(most))
                .findFirst()
                .orElseThrow();
        differences.add(new Difference(
                what,
                rail,
                kind,
                Collections.unmodifiableMap(values),
                separates,
                Rail.prefix(rail) + (kind.isEmpty() ? "" : kind + ": ") + what + " is " + text(values, majority)
                        + (separates
                                ? "; nodes of different types can't talk to each other: give them one gid type"
                                : ""),
                odd.node(),
                fill(show, odd.place(), ""),
                fill(cure, odd.place(), majority ? most : "")));
    }

    /** Notes the nodes that do not report a property that others of their kind report. */
    private void noteSilent(String what, String rail, List<Found> found) {
        List<String> missing = found.stream()
                .filter(each -> each.value().isEmpty())
                .map(Found::node)
                .toList();
        if (!missing.isEmpty() && missing.size() < found.size()) {
            silent.computeIfAbsent(rail, NodeComparison::inOrder)
                    .computeIfAbsent(missing, nodes -> new ArrayList<>())
                    .add(what);
        }
    }

    private static String text(Map<String, List<String>> values, boolean majority) {
        List<Map.Entry<String, List<String>>> entries = List.copyOf(values.entrySet());
        int most = entries.getFirst().getValue().size();
        Stream<String> others = entries.stream()
                .skip(majority ? 1 : 0)
                .map(entry -> entry.getKey() + " on " + String.join(", ", entry.getValue()));
        return (majority ? entries.getFirst().getKey() + " on " + most + " nodes, but " : "")
                + others.collect(Collectors.joining(", and "));
    }

    /** Fills the places in a command. The place of an unknown value becomes a word in capitals, as in man pages. */
    private static String fill(String text, @Nullable Place place, String value) {
        return BLANK.matcher(text).replaceAll(match -> {
            String name = match.group(1);
            String known = name.equals("value")
                    ? value
                    : place == null
                            ? ""
                            : switch (name) {
                                case "device" -> place.device();
                                case "port" -> Integer.toString(place.port());
                                case "gid" -> Integer.toString(place.gidIndex());
                                default -> place.settings().getOrDefault(name, "");
                            };
            return Matcher.quoteReplacement(
                    known.isEmpty() ? name.replaceFirst(".*(?=[A-Z])", "").toUpperCase(Locale.ROOT) : known);
        });
    }

    private static Function<Place, String> setting(String name) {
        return place -> place.settings().getOrDefault(name, "");
    }

    private static String lanes(Place place, String name) {
        String width = place.settings().getOrDefault(name, "");
        return width.isEmpty() ? "" : "x" + width;
    }

    /** Returns a sentence for each property in which the PCIe link of a device is below the device's capability. */
    static List<String> belowCapability(Place place) {
        List<String> below = new ArrayList<>();
        below(place, "speed", "pcieSpeed", "pcieMaxSpeed", "", below);
        below(place, "width", "pcieWidth", "pcieMaxWidth", "x", below);
        return List.copyOf(below);
    }

    private static void below(Place place, String what, String now, String most, String unit, List<String> below) {
        String is = place.settings().getOrDefault(now, "");
        String can = place.settings().getOrDefault(most, "");
        OptionalDouble seen = number(is);
        OptionalDouble possible = number(can);
        if (seen.isPresent() && possible.isPresent() && seen.getAsDouble() < possible.getAsDouble()) {
            below.add(fill(
                    "PCIe " + what + " is " + unit + is + ", and the device supports " + unit + can + "; shown by: cat "
                            + DEVICE
                            + "device/current_link_" + what
                            + "; to do: reseat the card; look for a slot, a riser or a firmware setup of the host that gives"
                            + " it less (lspci -vv -s {pcieAddress}: LnkCap, LnkSta)",
                    place,
                    ""));
        }
    }

    private static OptionalDouble number(String text) {
        Matcher number = NUMBER.matcher(text);
        return number.find() ? OptionalDouble.of(Double.parseDouble(number.group())) : OptionalDouble.empty();
    }

    /** Returns the limit of locked memory of this process in KiB, as ulimit(1) reports it; empty if unknown. */
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
