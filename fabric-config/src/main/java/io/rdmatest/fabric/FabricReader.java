package io.rdmatest.fabric;

import io.rdmatest.fabric.yaml.CheckedYaml;
import io.rdmatest.verbs.DeviceCapability;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;
import org.snakeyaml.engine.v2.nodes.Tag;

/**
 * Reads and checks one fabric file.
 */
final class FabricReader extends CheckedYaml {

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,62}");
    private static final Pattern DEVICE = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._:-]{0,62}");

    private String fabric = "";

    private FabricReader(String source) {
        super(source);
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
        return new FabricReader(source).read(text);
    }

    @Override
    protected RuntimeException failure(List<String> problems) {
        return new FabricException(problems);
    }

    private Fabric read(String text) {
        org.snakeyaml.engine.v2.nodes.Node root = compose(text, "a fabric has the keys fabric and nodes");
        List<Node> nodes = List.of();
        Map<String, org.snakeyaml.engine.v2.nodes.Node> keys =
                mapping(root, "a fabric", List.of("fabric", "nodes"), List.of("fabric", "nodes"));
        if (keys != null) {
            fabric = keys.containsKey("fabric") ? name(keys.get("fabric"), "fabric") : "";
            nodes = keys.containsKey("nodes") ? nodes(keys.get("nodes")) : List.of();
        }
        failOnProblems();
        return new Fabric(fabric, source, nodes);
    }

    private List<Node> nodes(org.snakeyaml.engine.v2.nodes.Node value) {
        if (!(value instanceof SequenceNode sequence) || sequence.getValue().isEmpty()) {
            problem(value, "nodes must be a list of at least one node, not " + shown(value));
            return List.of();
        }
        int before = problemCount();
        List<Node> nodes = new ArrayList<>();
        Map<String, Integer> lines = new HashMap<>();
        for (org.snakeyaml.engine.v2.nodes.Node item : sequence.getValue()) {
            node(item, lines).ifPresent(nodes::add);
        }
        if (problemCount() == before && nodes.stream().noneMatch(Node::isLocal)) {
            problem(value, "every node has launch; one node must be this host, that is, have none");
        }
        return nodes;
    }

    private Optional<Node> node(org.snakeyaml.engine.v2.nodes.Node item, Map<String, Integer> lines) {
        int before = problemCount();
        Map<String, org.snakeyaml.engine.v2.nodes.Node> keys = mapping(
                item,
                "a node",
                List.of("name", "device", "port", "gid", "address", "launch", "promises"),
                List.of("name"));
        if (keys == null) {
            return Optional.empty();
        }
        String name = "";
        String device = Node.AUTO;
        int port = 0;
        GidSelector gid = GidSelector.AUTO;
        InetAddress address = null;
        List<String> launch = List.of();
        Promises promises = Promises.NONE;
        for (Map.Entry<String, org.snakeyaml.engine.v2.nodes.Node> entry : keys.entrySet()) {
            org.snakeyaml.engine.v2.nodes.Node value = entry.getValue();
            switch (entry.getKey()) {
                case "name" -> {
                    name = name(value, "name");
                    int line = value.getStartMark().map(m -> m.getLine() + 1).orElse(1);
                    Integer first = name.isEmpty() ? null : lines.putIfAbsent(name, line);
                    if (first != null) {
                        problem(
                                value,
                                "name '" + name + "' is taken by the node in line " + first
                                        + "; names are unique in a fabric");
                    }
                }
                case "device" -> {
                    device = text(value);
                    if (!DEVICE.matcher(device).matches()) {
                        problem(
                                value,
                                "device " + shown(value) + " is neither 'auto' nor a device name such as mlx5_0");
                    }
                }
                case "port" -> port = "auto".equals(text(value)) ? 0 : integer(value, "port", 1, 255, " or auto");
                case "gid" -> gid = gid(value);
                case "address" -> address = address(value);
                case "launch" -> launch = launch(value);
                case "promises" -> promises = promises(value);
                default -> throw new IllegalStateException(entry.getKey());
            }
        }
        return problemCount() > before
                ? Optional.empty()
                : Optional.of(new Node(fabric, name, device, port, gid, address, launch, promises));
    }

    private GidSelector gid(org.snakeyaml.engine.v2.nodes.Node value) {
        if ("auto".equals(text(value))) {
            return GidSelector.AUTO;
        }
        int before = problemCount();
        Map<String, org.snakeyaml.engine.v2.nodes.Node> keys =
                mapping(value, "gid", List.of("type", "family", "index"), List.of());
        if (keys == null) {
            return GidSelector.AUTO;
        }
        org.snakeyaml.engine.v2.nodes.Node index = keys.get("index");
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

    private @Nullable InetAddress address(org.snakeyaml.engine.v2.nodes.Node value) {
        String text = text(value);
        if (text.equals("auto")) {
            return null;
        }
        try {
            // Only literals: what a name resolves to differs between the hosts of a fabric.
            return InetAddress.ofLiteral(text);
        } catch (IllegalArgumentException e) {
            problem(
                    value,
                    "address " + shown(value)
                            + " is not an IP address; allowed: auto, IPv4 such as 192.0.2.11, IPv6 such as 2001:db8::11");
            return null;
        }
    }

    private List<String> launch(org.snakeyaml.engine.v2.nodes.Node value) {
        if (!(value instanceof SequenceNode sequence) || sequence.getValue().isEmpty()) {
            problem(
                    value,
                    "launch must be a list of a command and its arguments, such as [ssh, root@b.example], not "
                            + shown(value));
            return List.of();
        }
        List<String> words = new ArrayList<>();
        for (org.snakeyaml.engine.v2.nodes.Node item : sequence.getValue()) {
            if (item instanceof ScalarNode scalar && !scalar.getTag().equals(Tag.NULL)) {
                words.add(scalar.getValue());
            } else {
                problem(item, "launch has " + shown(item) + " where a word of the command is expected");
            }
        }
        if (!words.isEmpty() && words.getFirst().isBlank()) {
            problem(sequence.getValue().getFirst(), "launch begins with an empty word; the first one is the command");
        }
        return words;
    }

    private Promises promises(org.snakeyaml.engine.v2.nodes.Node value) {
        int before = problemCount();
        Map<String, org.snakeyaml.engine.v2.nodes.Node> keys =
                mapping(value, "promises", List.of("capabilities", "rate", "mtu"), List.of());
        if (keys == null) {
            return Promises.NONE;
        }
        if (keys.isEmpty() && problemCount() == before) {
            problem(value, "promises promises nothing; give capabilities, rate or mtu, or leave it out");
        }
        Set<DeviceCapability> capabilities = EnumSet.noneOf(DeviceCapability.class);
        org.snakeyaml.engine.v2.nodes.Node list = keys.get("capabilities");
        if (list instanceof SequenceNode sequence) {
            for (org.snakeyaml.engine.v2.nodes.Node item : sequence.getValue()) {
                DeviceCapability capability = choice(item, "capability", DeviceCapability.values());
                if (capability != null && !capabilities.add(capability)) {
                    problem(item, "capability " + shown(item) + " is promised twice");
                }
            }
        } else if (list != null) {
            problem(list, "capabilities must be a list such as [atomics, multicast], not " + shown(list));
        }
        org.snakeyaml.engine.v2.nodes.Node rate = keys.get("rate");
        org.snakeyaml.engine.v2.nodes.Node mtu = keys.get("mtu");
        Integer bytes = choice(mtu, "mtu", new Integer[] {256, 512, 1024, 2048, 4096});
        return new Promises(capabilities, rate == null ? 0 : rate(rate), bytes == null ? 0 : bytes);
    }

    private double rate(org.snakeyaml.engine.v2.nodes.Node value) {
        boolean number = value.getTag().equals(Tag.INT) || value.getTag().equals(Tag.FLOAT);
        try {
            double rate = number ? Double.parseDouble(text(value)) : 0;
            if (rate > 0 && rate <= Promises.HIGHEST_RATE) {
                return rate;
            }
        } catch (NumberFormatException e) {
            // falls through to the one message for everything that is no number in the range
        }
        problem(
                value,
                "rate " + shown(value) + " is out of range; allowed: Gb/s, more than 0 and at most "
                        + (int) Promises.HIGHEST_RATE);
        return 0;
    }

    private String name(org.snakeyaml.engine.v2.nodes.Node value, String key) {
        String text = text(value);
        if (!NAME.matcher(text).matches()) {
            problem(
                    value,
                    key + " " + shown(value)
                            + " is not a name: 1 to 63 letters, digits, '.', '_', '-', beginning with a letter or digit");
            return "";
        }
        return text;
    }
}
