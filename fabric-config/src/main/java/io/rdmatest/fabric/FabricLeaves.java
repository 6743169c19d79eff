package io.rdmatest.fabric;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Finds the leaf switch that each port of a fabric is cabled to, from the output of other programs: {@code ibnetdiscover}, {@code
 * lldpctl -f json} or {@code -f keyvalue} on each node, or Slurm's {@code topology.conf}, {@code topology.yaml}, {@code scontrol
 * show topology} or {@code show topoconf}.
 */
public final class FabricLeaves {

    /** The programs whose output is understood. */
    public enum Format {
        /** {@code ibnetdiscover}, of one subnet. */
        IBNETDISCOVER("ibnetdiscover"),
        /** {@code lldpctl -f json} or {@code -f json0} of one node. The file has the name of the node. */
        LLDP_JSON("lldpctl -f json"),
        /** {@code lldpctl -f keyvalue} of one node. The file has the name of the node. */
        LLDP_KEYVALUE("lldpctl -f keyvalue"),
        /** {@code topology.conf}, {@code topology.yaml}, {@code scontrol show topology} or {@code show topoconf}. */
        SLURM("Slurm's topology");

        private final String words;

        Format(String words) {
            this.words = words;
        }

        @Override
        public String toString() {
            return words;
        }
    }

    /**
     * The leaf of a port of the fabric.
     *
     * @param node the name of its node
     * @param rail its rail; empty for a node without rails
     * @param leaf the leaf; null if it was not found
     * @param before the leaf in the fabric file; null if it has none
     * @param why the reason why the leaf was not found, or why it may be no switch, with the cure; otherwise empty
     */
    public record Found(
            String node,
            String rail,
            @Nullable String leaf,
            @Nullable String before,
            String why) {}

    private static final Pattern FILE_ENDING = Pattern.compile("(?:\\.(?:json0?|txt|keyvalue|kv|lldp))+$");
    /** What a kernel calls a device, unlike the HCA-1 of older start scripts. */
    private static final Pattern KERNEL_DEVICE = Pattern.compile("[a-z][a-z0-9_]*");

    private static final Pattern ADDRESS = Pattern.compile("[0-9.]+");

    private final Map<Path, Format> formats = new LinkedHashMap<>();
    private final Map<String, List<CabledPort>> portsOf = new HashMap<>();
    private final Map<CabledPort.Switch, String> labels = new HashMap<>();
    private final Set<String> ambiguousLabels = new HashSet<>();
    /** By the host that a file has the name of, in lower case without the domain. */
    private final Map<String, List<String>> problems = new LinkedHashMap<>();

    private FabricLeaves() {}

    /**
     * Reads files. The content of a file decides its format. A file without a leaf is one of {@link #problems()}.
     *
     * @param files at least one
     * @throws FabricException if a file can't be read; the message names the file
     */
    public static FabricLeaves read(List<Path> files) {
        FabricLeaves leaves = new FabricLeaves();
        Set<CabledPort> ports = new LinkedHashSet<>();
        for (Path file : files) {
            try {
                // A description of a switch may be in any encoding.
                String text = new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
                ports.addAll(leaves.ports(file, text.startsWith("\uFEFF") ? text.substring(1) : text));
            } catch (NoSuchFileException e) {
                throw new FabricException(file + " can't be read: there is no such file");
            } catch (IOException e) {
                throw new FabricException(file + " can't be read: " + e);
            }
        }
        ports.forEach(port -> leaves.portsOf
                .computeIfAbsent(shortName(port.host()), ignored -> new ArrayList<>())
                .add(port));
        leaves.label(ports.stream().map(CabledPort::leaf).collect(Collectors.toCollection(LinkedHashSet::new)));
        return leaves;
    }

    private List<CabledPort> ports(Path file, String text) {
        List<String> mistakes = new ArrayList<>();
        List<CabledPort> ports = List.of();
        try {
            if (text.isBlank()) {
                throw new FabricException("is empty: the program that wrote it failed;"
                        + " lldpctl -f keyvalue also prints nothing if there is no neighbour");
            }
            Format format = format(text);
            formats.put(file, format);
            ports = switch (format) {
                case IBNETDISCOVER -> SubnetOutput.read(text);
                case LLDP_JSON -> LldpOutput.json(host(file), text);
                case LLDP_KEYVALUE -> LldpOutput.keyValues(host(file), text);
                case SLURM -> SlurmTopology.read(file, text, mistakes);
            };
            if (ports.isEmpty() && mistakes.isEmpty()) {
                throw new FabricException("(" + format + ") names no "
                        + switch (format) {
                            case IBNETDISCOVER -> "switch that a host is cabled to";
                            case LLDP_JSON, LLDP_KEYVALUE ->
                                "neighbour; check that LLDP is on at the port of the switch";
                            case SLURM -> "leaf: it has no switch, block or ring with nodes";
                        });
            }
        } catch (FabricException e) {
            String message = String.valueOf(e.getMessage());
            mistakes.add(message.startsWith(file + ":") ? message : file + " " + message);
        }
        if (!mistakes.isEmpty()) {
            problems.computeIfAbsent(shortName(host(file)), ignored -> new ArrayList<>())
                    .addAll(mistakes);
        }
        return ports;
    }

    private static Format format(String text) {
        if (text.stripLeading().startsWith("{")) {
            return Format.LLDP_JSON;
        }
        for (String line : (Iterable<String>) text.lines()::iterator) {
            if (SubnetOutput.begins(line)) {
                return Format.IBNETDISCOVER;
            }
            if (LldpOutput.begins(line)) {
                return Format.LLDP_KEYVALUE;
            }
            if (SlurmTopology.begins(line)) {
                return Format.SLURM;
            }
        }
        throw new FabricException("is none of: the output of ibnetdiscover, of lldpctl -f json or lldpctl -f keyvalue,"
                + " Slurm's topology.conf (SwitchName=, BlockName= or RingName=) or topology.yaml, the output of scontrol"
                + " show topology or show topoconf");
    }

    /**
     * Decides what each switch is called: its name, or its id where several switches have the same name. Some switches have
     * another id at each of their ports, so one with the same name and management address is the same switch.
     */
    private void label(Set<CabledPort.Switch> switches) {
        Map<List<String>, String> ids = new HashMap<>();
        Map<List<String>, Set<String>> idsOfName = new HashMap<>();
        Map<CabledPort.Switch, String> idOf = new HashMap<>();
        for (CabledPort.Switch each : switches) {
            List<List<String>> marks = new ArrayList<>();
            marks.add(List.of(each.kind(), each.name(), "id", each.id()));
            each.addresses().stream()
                    .sorted()
                    .forEach(address -> marks.add(List.of(each.kind(), each.name(), "address", address)));
            String id = marks.stream()
                    .filter(ids::containsKey)
                    .map(ids::get)
                    .findFirst()
                    .orElse(each.id());
            marks.forEach(mark -> ids.putIfAbsent(mark, id));
            idsOfName
                    .computeIfAbsent(List.of(each.kind(), each.name()), ignored -> new HashSet<>())
                    .add(id);
            idOf.put(each, id);
        }
        Map<List<String>, Set<String>> idsOfLabel = new HashMap<>();
        idOf.forEach((each, id) -> {
            boolean unique = idsOfName
                            .getOrDefault(List.of(each.kind(), each.name()), Set.of())
                            .size()
                    == 1;
            String label = unique && !each.name().isEmpty() ? each.name() : CabledPort.plain(id);
            labels.put(each, label);
            Set<String> its = idsOfLabel.computeIfAbsent(List.of(each.kind(), label), ignored -> new HashSet<>());
            its.add(id);
            if (its.size() > 1) {
                ambiguousLabels.add(label);
            }
        });
    }

    /** Returns the host of a file by the file's name, because the content does not name the host. */
    private static String host(Path file) {
        Path name = file.getFileName();
        return name == null ? "" : FILE_ENDING.matcher(name.toString()).replaceFirst("");
    }

    /** Returns one sentence for each file without a leaf, and for each line of Slurm's topology that is passed over. */
    public List<String> problems() {
        return problems.values().stream().flatMap(List::stream).toList();
    }

    /** Returns the detected format of each file. */
    public Map<Path, Format> formats() {
        return new LinkedHashMap<>(formats);
    }

    /**
     * Finds the leaves of a fabric's ports. A node matches the host with its name, with or without the domain.
     *
     * @param fabric the fabric
     * @param interfaces the network interface of each rail, by the rail's name; for nodes without rails the name is empty. Only
     *     LLDP needs it, if a node's interfaces have different neighbours
     * @return one entry for each node and rail, in the file's order
     * @throws FabricException if no file names a leaf, and no file without one has the name of a node; the message is {@link
     *     #problems()}
     */
    public List<Found> of(Fabric fabric, Map<String, String> interfaces) {
        if (portsOf.isEmpty()
                && fabric.nodes().stream().noneMatch(node -> problems.containsKey(shortName(node.name())))) {
            throw new FabricException(problems());
        }
        List<Found> found = new ArrayList<>();
        for (Node node : fabric.nodes()) {
            for (Rail rail : node.rails()) {
                found.add(find(new NodePort(node, rail), interfaces.get(rail.name())));
            }
        }
        return found;
    }

    private Found find(NodePort on, @Nullable String networkInterface) {
        try {
            List<CabledPort> ports = ports(on, networkInterface);
            String leaf = leaf(on.rail(), ports);
            boolean isStation = ports.stream().allMatch(port -> port.leaf().isStation());
            return new Found(
                    on.node().name(),
                    on.rail().name(),
                    leaf,
                    on.rail().leaf(),
                    isStation ? "the neighbour announces neither Bridge nor Router; check that it is a switch" : "");
        } catch (FabricException e) {
            return new Found(
                    on.node().name(), on.rail().name(), null, on.rail().leaf(), String.valueOf(e.getMessage()));
        }
    }

    /** Returns the ports that the node may use: at least one. */
    private List<CabledPort> ports(NodePort on, @Nullable String networkInterface) {
        Node node = on.node();
        Rail rail = on.rail();
        int rails = node.rails().size();
        List<CabledPort> its = portsOf.getOrDefault(shortName(node.name()), List.of()).stream()
                .filter(port -> isHost(port.host(), node.name()))
                .toList();
        if (its.isEmpty()) {
            throw new FabricException(problems.getOrDefault(shortName(node.name()), List.of()).stream()
                    .findFirst()
                    .orElse("no host of its name is there; a node has to be called as its host is"));
        }
        if (!rail.device().equals(Rail.AUTO)) {
            its = narrow(
                    its,
                    port -> port.device().equals(rail.device()),
                    port -> !KERNEL_DEVICE.matcher(port.device()).matches(),
                    "its device " + rail.device()
                            + " is not there; check the name of the device in the fabric file, and its cable");
            if (its.size() < rails
                    && its.stream()
                            .allMatch(
                                    port -> port.number() > 0 && !port.device().equals(rail.device()))) {
                throw new FabricException("the source has " + its.size() + (its.size() == 1 ? " port" : " ports")
                        + " of this host for " + rails
                        + " rails, and calls the device " + its.getFirst().device()
                        + "; write the leaves in the fabric file, or let rdma-ndd name the devices");
            }
        }
        if (rail.port() > 0) {
            its = narrow(
                    its,
                    port -> port.number() == rail.port(),
                    port -> port.number() == 0,
                    "port " + rail.port()
                            + " of its device is not there; check the port in the fabric file, and its cable");
        }
        if (networkInterface != null) {
            its = its.stream()
                    .filter(port -> port.networkInterface().isEmpty()
                            || port.networkInterface().equals(networkInterface))
                    .toList();
            if (its.isEmpty()) {
                throw new FabricException("its interface " + networkInterface + " has no neighbour");
            }
        }
        return its;
    }

    private String leaf(Rail rail, List<CabledPort> its) {
        Set<String> leaves = its.stream()
                .map(port -> labels.getOrDefault(port.leaf(), ""))
                .collect(Collectors.toCollection(LinkedHashSet::new));
        if (leaves.size() > 1) {
            throw new FabricException(severalLeaves(its, String.join(", ", leaves), rail));
        }
        String leaf = leaves.iterator().next();
        if (ambiguousLabels.contains(leaf)) {
            throw new FabricException("several switches there would be called " + leaf
                    + ", because a leaf's name has only letters, digits, '.', '_' and '-'; rename them");
        }
        return leaf;
    }

    private static String severalLeaves(List<CabledPort> ports, String leaves, Rail rail) {
        Set<String> interfaces =
                ports.stream().map(CabledPort::networkInterface).collect(Collectors.toSet());
        if (ports.stream()
                .allMatch(port -> port.number() == 0 && port.networkInterface().isEmpty())) {
            return "it is listed below " + leaves + "; write its leaf in the fabric file";
        }
        if (interfaces.equals(Set.of(""))) {
            return "its ports are cabled to " + leaves + "; name its "
                    + (rail.device().equals(Rail.AUTO) ? "device and port" : "port") + " in the fabric file";
        }
        if (interfaces.size() > 1) {
            return "its ports are cabled to " + leaves + "; name the interface: --interface "
                    + (rail.name().isEmpty() ? "" : rail.name() + "=") + "NAME";
        }
        return "its interface " + interfaces.iterator().next() + " has several neighbours: " + leaves
                + "; turn LLDP off at those that are no switch, such as a BMC, or write the leaf in the fabric file";
    }

    /**
     * Returns the ports that fit. If none fits, returns the ports of which the source does not know the property.
     *
     * @throws FabricException with this message if there are none of these either
     */
    private static List<CabledPort> narrow(
            List<CabledPort> ports, Predicate<CabledPort> fits, Predicate<CabledPort> isUnknown, String message) {
        List<CabledPort> some = ports.stream().filter(fits).toList();
        List<CabledPort> narrowed =
                some.isEmpty() ? ports.stream().filter(isUnknown).toList() : some;
        if (narrowed.isEmpty()) {
            throw new FabricException(message);
        }
        return narrowed;
    }

    private static boolean isHost(String host, String node) {
        return host.equalsIgnoreCase(node) || host.indexOf('.') < 0 || node.indexOf('.') < 0;
    }

    /** Returns the name of a host in lower case, without its domain. */
    private static String shortName(String host) {
        int dot = host.indexOf('.');
        // The dots of an IP address do not separate a domain.
        return (dot < 0 || ADDRESS.matcher(host).matches() ? host : host.substring(0, dot)).toLowerCase(Locale.ROOT);
    }

    /**
     * Writes a fabric file that has these leaves. Ports whose leaf was not found keep the leaf of the file.
     *
     * @param fabric the fabric
     * @param found what {@link #of} returned for it
     * @return the text of the file
     */
    public static String written(Fabric fabric, List<Found> found) {
        Map<String, String> leaves = new LinkedHashMap<>();
        found.forEach(each -> {
            String leaf = each.leaf();
            if (leaf != null) {
                leaves.put(each.node() + " " + each.rail(), leaf);
            }
        });
        return new FabricWriter(fabric, new NodeComparison(List.of()))
                .withLeaves(on -> leaves.get(on.node().name() + " " + on.rail().name()));
    }
}
