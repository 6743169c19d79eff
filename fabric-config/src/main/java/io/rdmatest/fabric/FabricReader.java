package io.rdmatest.fabric;

import io.rdmatest.fabric.yaml.CheckedYaml;
import io.rdmatest.verbs.DeviceCapability;
import io.rdmatest.verbs.Gid;
import java.math.BigDecimal;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.common.ScalarStyle;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;
import org.snakeyaml.engine.v2.nodes.Tag;

/**
 * Reads and checks one fabric file.
 */
final class FabricReader extends CheckedYaml {

    private static final List<String> FABRIC_KEYS =
            List.of("fabric", "nodes", "promises", "thresholds", "faults", "microvm");
    private static final List<String> DEVICE_KEYS = List.of("device", "port", "gid", "address");
    private static final List<String> NODE_KEYS = List.of(
            "name", "device", "port", "gid", "address", "leaf", "rails", "launch", "java", "environment", "promises");
    private static final List<String> RAIL_KEYS = List.of("device", "port", "gid", "address", "leaf", "promises");
    private static final List<String> PROMISE_KEYS = List.of("capabilities", "rate", "mtu", "gid-type", "lossless");
    private static final List<String> PERCENTILES =
            Stream.of(Thresholds.Percentile.values()).map(Object::toString).toList();

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,62}");
    /** Up to the length of a host's name with its domain (RFC 1035, section 2.3.4). */
    private static final Pattern NODE_NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,252}");

    private static final Pattern DEVICE = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._:-]{0,62}");
    private static final Pattern DEVICE_AND_PORT = Pattern.compile("([A-Za-z0-9][A-Za-z0-9._:-]*)/(\\d{1,3})");
    private static final Pattern FOUR_NUMBERS = Pattern.compile("\\d+\\.\\d+\\.\\d+\\.\\d+");
    /** An IPv4 address, also at the end of an IPv6 address. */
    private static final Pattern DOTTED = Pattern.compile("(\\d+\\.){3}\\d+$");

    private static final Pattern LEADING_ZERO = Pattern.compile("\\b0+(?=\\d)");
    /** The name of a network interface has at most 15 bytes (IFNAMSIZ). */
    private static final Pattern SCOPE = Pattern.compile("[A-Za-z0-9._-]{1,15}");
    /** A path may have a space in it, a command of the PATH hardly ever. */
    private static final Pattern SEVERAL_WORDS = Pattern.compile("[^/\\s]+\\s+\\S.*");

    private static final String SAME = "same";
    private static final Pattern JAVA = Pattern.compile("[^/\\s]+|/[^\\n]*[^/\\n]");
    private static final Pattern VARIABLE = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");

    private static final Pattern DURATION = Pattern.compile("(\\d{1,9}(?:\\.\\d{1,9})?) ?(ns|us|ms|s)");
    private static final Pattern PERCENT = Pattern.compile("(\\d{1,3}(?:\\.\\d{1,9})?) ?%");
    private static final Map<String, Long> NANOS =
            Map.of("ns", 1L, "us", 1_000L, "ms", 1_000_000L, "s", 1_000_000_000L);
    private static final BigDecimal LONGEST = BigDecimal.valueOf(1_000_000_000_000L);

    /** Whether tests may inject faults. */
    private enum Faults {
        ALLOWED,
        FORBIDDEN;

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** Stands for the name of a node in its other keys. */
    private static final String NAME_HERE = "{name}";

    /** The keys that only a launched node has. */
    private static final List<String> OF_LAUNCHED = List.of("launch", "java", "environment");

    private final Map<String, Integer> nameLines = new HashMap<>();
    private final Map<NodeAddress, Integer> addressLines = new HashMap<>();
    private String fabric = "";

    /** An address of the file. Only the node itself can resolve its scope. */
    private record NodeAddress(@Nullable InetAddress address, String scope) {
        static final NodeAddress NONE = new NodeAddress(null, "");
    }

    /** The name of the host that reads the file. */
    private final String host;

    private FabricReader(String source, String host) {
        super(source);
        this.host = host;
    }

    /**
     * Reads a fabric.
     *
     * @param source where the text is from, for messages
     * @param text the YAML
     * @return the fabric
     * @throws FabricException with a line {@code source:line:column: …} for each problem
     */
    static Fabric read(String source, String text) {
        return read(source, text, DeviceResolver.hostName());
    }

    /** Reads a fabric as a host with this name does. */
    static Fabric read(String source, String text, String host) {
        return new FabricReader(source, host).read(text);
    }

    @Override
    protected RuntimeException failure(List<String> problems) {
        return new FabricException(problems);
    }

    private Fabric read(String text) {
        Node root = compose(text, "a fabric has the keys fabric and nodes");
        List<io.rdmatest.fabric.Node> nodes = List.of();
        Fabric.Terms terms = Fabric.Terms.NONE;
        Map<String, Node> keys = mapping(withoutExtensions(root), "a fabric", FABRIC_KEYS, List.of("fabric", "nodes"));
        if (keys != null) {
            fabric = keys.containsKey("fabric") ? name(keys.get("fabric"), "fabric") : "";
            // Before the nodes, independent of the order in the file: each node inherits the fabric's promises.
            Promises promises =
                    keys.containsKey("promises") ? promises(keys.get("promises"), Promises.NONE) : Promises.NONE;
            nodes = keys.containsKey("nodes") ? nodes(keys.get("nodes"), promises) : List.of();
            Faults faults = choice(keys.get("faults"), "faults", Faults.values());
            Node microvm = keys.get("microvm");
            terms = new Fabric.Terms(
                    keys.containsKey("thresholds") ? thresholds(keys.get("thresholds")) : Thresholds.NONE,
                    faults == Faults.ALLOWED,
                    microvm == null ? 0 : integer(microvm, "microvm", 1, 4, " virtual machines"));
        }
        failOnProblems();
        return new Fabric(fabric, source, nodes, terms);
    }

    /** The keys {@code x-…} hold what aliases in the file refer to. */
    private static Node withoutExtensions(Node root) {
        if (root instanceof MappingNode mapping) {
            mapping.setValue(mapping.getValue().stream()
                    .filter(entry -> !text(entry.getKeyNode()).startsWith("x-"))
                    .toList());
        }
        return root;
    }

    private List<io.rdmatest.fabric.Node> nodes(Node value, Promises promises) {
        if (!(value instanceof SequenceNode sequence) || sequence.getValue().isEmpty()) {
            problem(value, "nodes must be a list of at least one node, not " + shown(value));
            return List.of();
        }
        int before = problemCount();
        var nodes = new ArrayList<io.rdmatest.fabric.Node>();
        List<Node> items = sequence.getValue().stream()
                .flatMap(item -> eachOf(item).stream())
                .toList();
        for (Node item : items) {
            node(item, promises).ifPresent(nodes::add);
        }
        if (problemCount() == before && nodes.stream().noneMatch(node -> node.isLocal())) {
            problem(
                    value,
                    "every node has launch; one node must be this host, that is, have none"
                            + (sequence.getValue().size() < items.size()
                                    ? ". Of a list, it is the node with the name of this host, " + host
                                    : ""));
        }
        if (problemCount() == before) {
            checkRails(items, nodes);
        }
        return nodes;
    }

    /**
     * Returns the nodes for which an item stands: itself, or one for each host of the list that is its name. Of a list, the one
     * with the name of this host is this host.
     */
    private List<Node> eachOf(Node item) {
        if (!(item instanceof MappingNode mapping)) {
            return List.of(item);
        }
        Node name = mapping.getValue().stream()
                .filter(entry -> text(entry.getKeyNode()).equals("name"))
                .map(NodeTuple::getValueNode)
                .findFirst()
                .orElse(mapping);
        if (!HostList.isList(text(name))) {
            return List.of(named(mapping, text(name), List.of()));
        }
        try {
            return HostList.of(text(name)).stream()
                    .map(each -> named(mapping, each, plain(each).equals(plain(host)) ? OF_LAUNCHED : List.of()))
                    .toList();
        } catch (FabricException e) {
            problem(name, "name " + e.getMessage());
            return List.of();
        }
    }

    /** Returns the name of a host without its domain. */
    private static String plain(String host) {
        return host.split("\\.", 2)[0];
    }

    /** Returns a copy of a node that has a name and lacks some keys. */
    private static Node named(MappingNode node, String name, List<String> without) {
        List<NodeTuple> entries = new ArrayList<>();
        for (NodeTuple entry : node.getValue()) {
            String key = text(entry.getKeyNode());
            if (!without.contains(key)) {
                Node value = entry.getValueNode();
                entries.add(new NodeTuple(
                        entry.getKeyNode(),
                        key.equals("name") && HostList.isList(text(value))
                                ? scalar(value, name)
                                : filled(value, name)));
            }
        }
        return new MappingNode(
                node.getTag(), true, entries, node.getFlowStyle(), node.getStartMark(), node.getEndMark());
    }

    /** Returns a part of a node in which {@code {name}} is the node's name. */
    private static Node filled(Node part, String name) {
        return switch (part) {
            case ScalarNode scalar -> {
                String text = scalar.getValue().replace(NAME_HERE, name);
                yield text.equals(scalar.getValue()) ? scalar : scalar(scalar, text);
            }
            case SequenceNode list ->
                new SequenceNode(
                        list.getTag(),
                        true,
                        list.getValue().stream().map(item -> filled(item, name)).toList(),
                        list.getFlowStyle(),
                        list.getStartMark(),
                        list.getEndMark());
            case MappingNode mapping ->
                new MappingNode(
                        mapping.getTag(),
                        true,
                        mapping.getValue().stream()
                                .map(entry -> new NodeTuple(entry.getKeyNode(), filled(entry.getValueNode(), name)))
                                .toList(),
                        mapping.getFlowStyle(),
                        mapping.getStartMark(),
                        mapping.getEndMark());
            default -> part;
        };
    }

    private static ScalarNode scalar(Node of, String text) {
        return new ScalarNode(Tag.STR, true, text, ScalarStyle.PLAIN, of.getStartMark(), of.getEndMark());
    }

    private Optional<io.rdmatest.fabric.Node> node(Node item, Promises ofFabric) {
        int before = problemCount();
        Map<String, Node> keys = mapping(item, "a node", NODE_KEYS, List.of("name"));
        if (keys == null) {
            return Optional.empty();
        }
        String name = "";
        List<String> launch = List.of();
        String java = io.rdmatest.fabric.Node.DEFAULT_JAVA;
        Map<String, String> environment = Map.of();
        Promises promises = keys.containsKey("promises") ? promises(keys.get("promises"), ofFabric) : ofFabric;
        List<Rail> rails = List.of();
        for (Map.Entry<String, Node> entry : keys.entrySet()) {
            Node value = entry.getValue();
            switch (entry.getKey()) {
                case "name" -> name = uniqueName(value);
                case "launch" -> launch = launch(value);
                case "java" -> java = java(value);
                case "environment" -> environment = environment(value);
                case "rails" -> rails = rails(value, promises, leafOf(keys));
                default -> {
                    // The keys of the device are read below. The promises are read already.
                }
            }
        }
        Rail only = device(keys, "", promises, null);
        if (keys.containsKey("rails")) {
            for (String key : DEVICE_KEYS) {
                if (keys.containsKey(key)) {
                    problem(keys.get(key), key + " stands beside rails; it belongs into one of the rails");
                }
            }
        }
        if (!keys.containsKey("launch")) {
            for (String key : List.of("java", "environment")) {
                if (keys.containsKey(key)) {
                    problem(
                            keys.get(key),
                            key + " is for nodes with launch; this node is this host, whose JVM is already running");
                }
            }
        }
        if (problemCount() > before) {
            return Optional.empty();
        }
        return Optional.of(new io.rdmatest.fabric.Node(
                fabric, name, launch, java, environment, rails.isEmpty() ? List.of(only) : rails));
    }

    /** Reads the name of the switch that a port is cabled to; null if there is none. */
    private @Nullable String leafOf(Map<String, Node> keys) {
        Node value = keys.get("leaf");
        return value == null ? null : name(value, "leaf", NODE_NAME, 253);
    }

    private String uniqueName(Node value) {
        String name = name(value, "name", NODE_NAME, 253);
        Integer first = name.isEmpty() ? null : nameLines.putIfAbsent(name, line(value));
        if (first != null) {
            problem(
                    value,
                    "name '" + name + "' is taken by the node in line " + first + "; names are unique in a fabric");
        }
        return name;
    }

    /** Reads the keys of a device, of a node or of a rail; the node's leaf is the default of its rails. */
    private Rail device(Map<String, Node> keys, String rail, Promises promises, @Nullable String leafOfAll) {
        String device = Rail.AUTO;
        int port = 0;
        GidSelector gid = GidSelector.AUTO;
        NodeAddress address = NodeAddress.NONE;
        String leaf = leafOf(keys);
        for (Map.Entry<String, Node> entry : keys.entrySet()) {
            Node value = entry.getValue();
            switch (entry.getKey()) {
                case "device" -> device = deviceName(value);
                case "port" -> port = "auto".equals(text(value)) ? 0 : integer(value, "port", 1, 255, " or auto");
                case "gid" -> gid = gid(value);
                case "address" -> address = address(value);
                default -> {
                    // A key that does not describe the device.
                }
            }
        }
        return new Rail(
                rail, device, port, gid, address.address(), address.scope(), promises, leaf == null ? leafOfAll : leaf);
    }

    private String deviceName(Node value) {
        String device = text(value);
        Matcher withPort = DEVICE_AND_PORT.matcher(device);
        if (withPort.matches()) {
            problem(
                    value,
                    "device " + shown(value) + " has a port in it, which has a key of its own: device: "
                            + withPort.group(1) + " and port: " + withPort.group(2));
        } else if (!DEVICE.matcher(device).matches()) {
            problem(value, "device " + shown(value) + " is neither 'auto' nor a device name such as mlx5_0");
        }
        return device;
    }

    private List<Rail> rails(Node value, Promises ofNode, @Nullable String leafOfNode) {
        if (!(value instanceof MappingNode mapping) || mapping.getValue().isEmpty()) {
            problem(
                    value,
                    "rails must be a mapping of a rail's name to its device, such as {rail0: {device: mlx5_0}}, not "
                            + shown(value));
            return List.of();
        }
        List<Rail> rails = new ArrayList<>();
        for (NodeTuple entry : mapping.getValue()) {
            String rail = name(entry.getKeyNode(), "rail");
            Map<String, Node> keys = mapping(entry.getValueNode(), "a rail", RAIL_KEYS, List.of("device"));
            if (keys == null) {
                continue;
            }
            Promises promises = keys.containsKey("promises") ? promises(keys.get("promises"), ofNode) : ofNode;
            Rail read = device(keys, rail, promises, leafOfNode);
            for (Rail other : rails) {
                boolean overlap = other.port() == read.port() || other.port() == 0 || read.port() == 0;
                if (keys.containsKey("device") && other.device().equals(read.device()) && overlap) {
                    problem(
                            keys.get("device"),
                            "rail '" + rail + "' has the device " + shown(keys.get("device")) + " of rail '"
                                    + other.name() + "'; each rail has a device of its own, or another port of it");
                }
            }
            if (rails.stream().anyMatch(other -> other.name().equals(rail))) {
                problem(entry.getKeyNode(), "rail '" + rail + "' appears twice in a node");
            }
            rails.add(read);
        }
        return rails;
    }

    /** Compares the nodes' rails: a rail connects nodes, so a rail on a single node is misspelt. */
    private void checkRails(List<Node> items, List<io.rdmatest.fabric.Node> nodes) {
        if (nodes.size() < 2 || nodes.stream().allMatch(node -> node.railNames().isEmpty())) {
            return;
        }
        for (int i = 0; i < nodes.size(); i++) {
            var node = nodes.get(i);
            if (node.railNames().isEmpty()) {
                problem(
                        items.get(i),
                        "node '" + node.name() + "' has no rails; where one node has them, every node has");
            }
            for (NodeTuple rail : railsOf(items.get(i))) {
                String name = text(rail.getKeyNode());
                if (nodes.stream()
                                .filter(each -> each.railNames().contains(name))
                                .count()
                        > 1) {
                    continue;
                }
                List<String> others = nodes.stream()
                        .filter(each -> each != node)
                        .flatMap(each -> each.railNames().stream())
                        .distinct()
                        .toList();
                problem(
                        rail.getKeyNode(),
                        "rail '" + name + "' is on node '" + node.name()
                                + "' only and connects nothing; the rails of the"
                                + " other nodes: " + (others.isEmpty() ? "none" : list(others))
                                + didYouMean(
                                        name,
                                        others.stream()
                                                .filter(other ->
                                                        !node.railNames().contains(other))
                                                .toList()));
            }
        }
    }

    private static List<NodeTuple> railsOf(Node item) {
        return ((MappingNode) item)
                .getValue().stream()
                        .filter(entry -> text(entry.getKeyNode()).equals("rails"))
                        .flatMap(entry -> ((MappingNode) entry.getValueNode()).getValue().stream())
                        .toList();
    }

    private GidSelector gid(Node value) {
        if ("auto".equals(text(value))) {
            return GidSelector.AUTO;
        }
        int before = problemCount();
        Map<String, Node> keys = mapping(value, "gid", List.of("type", "family", "index"), List.of());
        if (keys == null) {
            return GidSelector.AUTO;
        }
        Node index = keys.get("index");
        if (keys.isEmpty() && problemCount() == before) {
            problem(value, "gid selects nothing; give type and family, or index, or write gid: auto");
        }
        if (index != null && keys.size() > 1) {
            problem(
                    index,
                    "gid has index and also " + list(List.copyOf(without(keys.keySet(), "index")))
                            + "; an index stands alone");
        }
        int number = index == null ? 0 : integer(index, "gid index", 0, 255, "");
        GidSelector.Type type = choice(keys.get("type"), "gid type", GidSelector.Type.values());
        GidSelector.Family family = choice(keys.get("family"), "gid family", GidSelector.Family.values());
        if (problemCount() > before) {
            return GidSelector.AUTO;
        }
        return new GidSelector(index == null ? OptionalInt.empty() : OptionalInt.of(number), type, family);
    }

    private static Set<String> without(Set<String> keys, String key) {
        Set<String> others = new LinkedHashSet<>(keys);
        others.remove(key);
        return others;
    }

    private NodeAddress address(Node value) {
        String text = text(value);
        if (text.equals("auto")) {
            return NodeAddress.NONE;
        }
        String wrong = mistake(text);
        if (!wrong.isEmpty()) {
            problem(value, "address " + shown(value) + " " + wrong);
            return NodeAddress.NONE;
        }
        String[] parts = text.split("%", 2);
        NodeAddress address = new NodeAddress(InetAddress.ofLiteral(parts[0]), parts.length == 1 ? "" : parts[1]);
        Integer first = addressLines.putIfAbsent(address, line(value));
        if (first != null) {
            problem(
                    value,
                    "address " + shown(value) + " is already in line " + first
                            + "; each node and rail has an address of its own");
        }
        return address;
    }

    /** Returns the mistake of an address; empty if there is none. */
    private static String mistake(String text) {
        int slash = text.indexOf('/');
        if (slash > 0 && isAddress(text.substring(0, slash))) {
            return "has a prefix length; write the address alone: " + text.substring(0, slash);
        }
        String[] parts = text.split("%", 2);
        if (!isAddress(parts[0])) {
            return "is not an IP address; allowed: auto, IPv4 such as 192.0.2.11, IPv6 such as 2001:db8::11";
        }
        Matcher dotted = DOTTED.matcher(parts[0]);
        if (dotted.find() && LEADING_ZERO.matcher(dotted.group()).find()) {
            String without = LEADING_ZERO.matcher(dotted.group()).replaceAll("");
            return "has a number with a leading zero, which some programs read as octal; write "
                    + parts[0].substring(0, dotted.start()) + without + " if the number is decimal";
        }
        InetAddress address = InetAddress.ofLiteral(parts[0]);
        if (address.isAnyLocalAddress() || address.isMulticastAddress()) {
            return "is " + (address.isMulticastAddress() ? "a multicast group" : "every address of a host")
                    + "; a node has one that peers connect to, such as 192.0.2.11";
        }
        if (parts.length > 1 && !Gid.of(address).isLinkLocal()) {
            return "has a scope, and only link-local IPv6 addresses have one; write " + parts[0];
        }
        return parts.length == 1 || SCOPE.matcher(parts[1]).matches()
                ? ""
                : "has a scope that is not the name or the index of a network interface; write it as in fe80::11%eth0";
    }

    /**
     * Accepts literals only, since names may resolve differently on other hosts. IPv4 needs four numbers: Java also
     * accepts 10.1.
     */
    private static boolean isAddress(String text) {
        try {
            InetAddress.ofLiteral(text);
        } catch (IllegalArgumentException e) {
            return false;
        }
        return text.indexOf(':') >= 0 || FOUR_NUMBERS.matcher(text).matches();
    }

    private List<String> launch(Node value) {
        if (!(value instanceof SequenceNode sequence) || sequence.getValue().isEmpty()) {
            problem(
                    value,
                    "launch must be a list of a command and its arguments, such as [ssh, root@b.example], not "
                            + shown(value));
            return List.of();
        }
        List<String> words = new ArrayList<>();
        for (Node item : sequence.getValue()) {
            if (item instanceof ScalarNode scalar && !scalar.getTag().equals(Tag.NULL)) {
                words.add(scalar.getValue());
            } else {
                problem(item, "launch has " + shown(item) + " where a word of the command is expected");
            }
        }
        if (!words.isEmpty() && words.getFirst().isBlank()) {
            problem(sequence.getValue().getFirst(), "launch begins with an empty word; the first one is the command");
        } else if (!words.isEmpty() && SEVERAL_WORDS.matcher(words.getFirst()).matches()) {
            problem(
                    sequence.getValue().getFirst(),
                    "launch begins with " + shown(sequence.getValue().getFirst())
                            + ", which is no command but several words; write each on its own: ["
                            + String.join(", ", words.getFirst().strip().split("\\s+")) + "]");
        }
        return words;
    }

    private String java(Node value) {
        String text = text(value);
        if (text.equals(SAME)) {
            return Path.of(System.getProperty("java.home"), "bin", "java").toString();
        }
        if (!JAVA.matcher(text).matches()) {
            problem(
                    value,
                    "java " + shown(value) + " is not a program; allowed: a command on the node's PATH such as java, an"
                            + " absolute path such as /usr/lib/jvm/jdk-25/bin/java, or same for the path that it has here");
        }
        return text;
    }

    private Map<String, String> environment(Node value) {
        if (!(value instanceof MappingNode mapping)) {
            problem(
                    value,
                    "environment must be a mapping of variables to values, such as {LD_LIBRARY_PATH: /opt/rdma/lib}, not "
                            + shown(value));
            return Map.of();
        }
        Map<String, String> variables = new LinkedHashMap<>();
        for (NodeTuple entry : mapping.getValue()) {
            String variable = text(entry.getKeyNode());
            Node content = entry.getValueNode();
            if (!VARIABLE.matcher(variable).matches()) {
                problem(
                        entry.getKeyNode(),
                        "variable " + shown(entry.getKeyNode())
                                + " is not a name: letters, digits, '_', not beginning with a digit");
            }
            if (!(content instanceof ScalarNode scalar)
                    || scalar.getTag().equals(Tag.NULL)
                    || scalar.getValue().indexOf('\n') >= 0
                    || scalar.getValue().indexOf('\0') >= 0) {
                problem(
                        content,
                        "the value of variable '" + variable + "' must be one line of text, not " + shown(content));
            } else if (variables.putIfAbsent(variable, scalar.getValue()) != null) {
                problem(entry.getKeyNode(), "variable '" + variable + "' appears twice in environment");
            }
        }
        return variables;
    }

    private Thresholds thresholds(Node value) {
        int before = problemCount();
        Map<String, Node> keys =
                mapping(value, "thresholds", List.of("round-trip", "throughput", "bandwidth"), List.of());
        if (keys == null) {
            return Thresholds.NONE;
        }
        if (keys.isEmpty() && problemCount() == before) {
            problem(value, "thresholds demands nothing; give round-trip, throughput or bandwidth, or leave it out");
        }
        Map<Thresholds.Percentile, Duration> roundTrip = new EnumMap<>(Thresholds.Percentile.class);
        Node times = keys.get("round-trip");
        Map<String, Node> percentiles = times == null ? Map.of() : mapping(times, "round-trip", PERCENTILES, List.of());
        if (times != null && percentiles != null && percentiles.isEmpty() && problemCount() == before) {
            problem(times, "round-trip demands nothing; give at least one of " + list(PERCENTILES));
        }
        for (Thresholds.Percentile percentile : Thresholds.Percentile.values()) {
            Node time = percentiles == null ? null : percentiles.get(percentile.toString());
            if (time != null) {
                roundTrip.put(percentile, duration(time, "round-trip " + percentile));
            }
        }
        Node throughput = keys.get("throughput");
        Node bandwidth = keys.get("bandwidth");
        return new Thresholds(
                roundTrip,
                throughput == null ? null : Rate.ofGigabitsPerSecond(gigabits(throughput, "throughput")),
                bandwidth == null ? 0 : share(bandwidth, "bandwidth"));
    }

    /** Reads a percentage as a share of 1; 0 if it is invalid. */
    private double share(Node value, String what) {
        Matcher matcher = PERCENT.matcher(text(value));
        if (matcher.matches()) {
            double percent = Double.parseDouble(matcher.group(1));
            if (percent > 0 && percent <= 100) {
                return percent / 100;
            }
        }
        problem(
                value,
                what + " " + shown(value)
                        + " is not a share of the line rate; allowed: more than 0 % and at most 100 %,"
                        + " such as 90 %");
        return 0;
    }

    private Duration duration(Node value, String what) {
        Matcher matcher = DURATION.matcher(text(value));
        if (matcher.matches()) {
            BigDecimal nanos =
                    new BigDecimal(matcher.group(1)).multiply(BigDecimal.valueOf(NANOS.get(matcher.group(2))));
            if (nanos.compareTo(BigDecimal.ONE) >= 0 && nanos.compareTo(LONGEST) <= 0) {
                return Duration.ofNanos(nanos.longValue());
            }
        }
        problem(
                value,
                what + " " + shown(value) + " is not a time; allowed: a number with ns, us, ms or s, from 1ns to 1000s,"
                        + " such as 12.5us");
        return Duration.ZERO;
    }

    /** Reads promises; missing ones are inherited. */
    private Promises promises(Node value, Promises inherited) {
        int before = problemCount();
        Map<String, Node> keys = mapping(value, "promises", PROMISE_KEYS, List.of());
        if (keys == null) {
            return inherited;
        }
        if (keys.isEmpty() && problemCount() == before) {
            problem(
                    value,
                    "promises promises nothing; give at least one of " + list(PROMISE_KEYS) + ", or leave it out");
        }
        Set<DeviceCapability> capabilities = EnumSet.noneOf(DeviceCapability.class);
        Node list = keys.get("capabilities");
        if (list instanceof SequenceNode sequence) {
            for (Node item : sequence.getValue()) {
                DeviceCapability capability = choice(item, "capability", DeviceCapability.values());
                if (capability != null && !capabilities.add(capability)) {
                    problem(item, "capability " + shown(item) + " is promised twice");
                }
            }
        } else if (list != null) {
            problem(list, "capabilities must be a list such as [atomics, multicast], not " + shown(list));
        }
        capabilities.addAll(inherited.capabilities());
        Node rate = keys.get("rate");
        Integer mtu = choice(keys.get("mtu"), "mtu", new Integer[] {256, 512, 1024, 2048, 4096});
        GidSelector.Type gidType = choice(keys.get("gid-type"), "gid-type", GidSelector.Type.values());
        Node lossless = keys.get("lossless");
        return new Promises(
                capabilities,
                rate == null ? inherited.rate() : gigabits(rate, "rate"),
                mtu == null ? inherited.mtu() : mtu,
                gidType == null ? inherited.gidType() : gidType,
                lossless == null ? inherited.lossless() : flag(lossless, "lossless"));
    }

    /** Reads a rate in Gb/s, or with its unit; 0 if it is invalid. */
    private double gigabits(Node value, String what) {
        boolean number = value.getTag().equals(Tag.INT) || value.getTag().equals(Tag.FLOAT);
        try {
            double rate = number
                    ? Double.parseDouble(text(value))
                    : Rate.parse(text(value)).map(Rate::gigabitsPerSecond).orElse(0.0);
            if (rate > 0 && rate <= Promises.HIGHEST_RATE) {
                return rate;
            }
        } catch (NumberFormatException e) {
            // falls through to the message for invalid numbers
        }
        problem(
                value,
                what + " " + shown(value) + " is out of range; allowed: Gb/s, more than 0 and at most "
                        + (int) Promises.HIGHEST_RATE + ", or a number with b/s, kb/s, Mb/s, Gb/s or Tb/s");
        return 0;
    }

    private String name(Node value, String key) {
        return name(value, key, NAME, 63);
    }

    private String name(Node value, String key, Pattern form, int longest) {
        String text = text(value);
        if (!form.matcher(text).matches()) {
            problem(
                    value,
                    key + " " + shown(value) + " is not a name: 1 to " + longest
                            + " letters, digits, '.', '_', '-', beginning with a letter or digit");
            return "";
        }
        return text;
    }
}
