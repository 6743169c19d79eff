package io.rdmatest.fabric;

import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.composer.Composer;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;
import org.snakeyaml.engine.v2.nodes.Tag;
import org.snakeyaml.engine.v2.parser.ParserImpl;
import org.snakeyaml.engine.v2.scanner.StreamReader;

/**
 * Reads and checks one fabric file.
 *
 * <p>Works on the composed nodes instead of loaded maps, because those still know their line and column. Collects every
 * problem of the file before it gives up.
 */
final class FabricReader {

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,62}");
    private static final Pattern DEVICE = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._:-]{0,62}");

    private record Problem(int line, int column, String text) {}

    private final String source;
    private final List<Problem> problems = new ArrayList<>();
    private String fabric = "";

    private FabricReader(String source) {
        this.source = source;
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

    private Fabric read(String text) {
        org.snakeyaml.engine.v2.nodes.Node root = compose(text);
        List<Node> nodes = List.of();
        Map<String, org.snakeyaml.engine.v2.nodes.Node> keys =
                mapping(root, "a fabric", List.of("fabric", "nodes"), List.of("fabric", "nodes"));
        if (keys != null) {
            fabric = keys.containsKey("fabric") ? name(keys.get("fabric"), "fabric") : "";
            nodes = keys.containsKey("nodes") ? nodes(keys.get("nodes")) : List.of();
        }
        if (!problems.isEmpty()) {
            throw new FabricException(problems.stream()
                    .sorted(Comparator.comparingInt(Problem::line).thenComparingInt(Problem::column))
                    .map(problem -> source + ":" + problem.line() + ":" + problem.column() + ": " + problem.text())
                    .toList());
        }
        return new Fabric(fabric, source, nodes);
    }

    private org.snakeyaml.engine.v2.nodes.Node compose(String text) {
        LoadSettings settings = LoadSettings.builder().setLabel(source).build();
        try {
            // What its class Compose does, in a package that snakeyaml-engine's module does not export.
            Optional<org.snakeyaml.engine.v2.nodes.Node> root =
                    new Composer(settings, new ParserImpl(settings, new StreamReader(settings, text))).getSingleNode();
            return root.orElseThrow(() ->
                    new FabricException(source + ":1:1: the file is empty; a fabric has the keys fabric and nodes"));
        } catch (MarkedYamlEngineException e) {
            Optional<Mark> mark = e.getProblemMark().or(e::getContextMark);
            throw new FabricException(source + ":"
                    + mark.map(m -> (m.getLine() + 1) + ":" + (m.getColumn() + 1))
                            .orElse("1:1")
                    + ": not YAML: "
                    + (e.getProblem() == null ? "" : e.getProblem().replaceAll("\\s+", " ")));
        } catch (YamlEngineException e) {
            throw new FabricException(
                    source + ":1:1: not YAML: " + String.valueOf(e.getMessage()).replaceAll("\\s+", " "));
        }
    }

    private void problem(org.snakeyaml.engine.v2.nodes.Node at, String text) {
        Optional<Mark> mark = at.getStartMark();
        problems.add(new Problem(
                mark.map(m -> m.getLine() + 1).orElse(1),
                mark.map(m -> m.getColumn() + 1).orElse(1),
                text));
    }

    private @Nullable Map<String, org.snakeyaml.engine.v2.nodes.Node> mapping(
            org.snakeyaml.engine.v2.nodes.Node node, String what, List<String> allowed, List<String> required) {
        if (!(node instanceof MappingNode mapping)) {
            problem(node, what + " must be a mapping with the keys " + list(allowed) + ", not " + shown(node));
            return null;
        }
        Map<String, org.snakeyaml.engine.v2.nodes.Node> keys = new LinkedHashMap<>();
        for (NodeTuple entry : mapping.getValue()) {
            String key =
                    entry.getKeyNode() instanceof ScalarNode scalar ? scalar.getValue() : shown(entry.getKeyNode());
            if (!allowed.contains(key)) {
                problem(
                        entry.getKeyNode(),
                        "unknown key '" + key + "' in " + what + "; allowed: " + list(allowed)
                                + didYouMean(key, allowed));
            } else if (keys.putIfAbsent(key, entry.getValueNode()) != null) {
                problem(entry.getKeyNode(), "key '" + key + "' appears twice in " + what);
            }
        }
        for (String key : required) {
            if (!keys.containsKey(key)) {
                problem(node, "key '" + key + "' is missing in " + what + "; it needs " + list(required));
            }
        }
        return keys;
    }

    private List<Node> nodes(org.snakeyaml.engine.v2.nodes.Node value) {
        if (!(value instanceof SequenceNode sequence) || sequence.getValue().isEmpty()) {
            problem(value, "nodes must be a list of at least one node, not " + shown(value));
            return List.of();
        }
        int before = problems.size();
        List<Node> nodes = new ArrayList<>();
        Map<String, Integer> lines = new HashMap<>();
        for (org.snakeyaml.engine.v2.nodes.Node item : sequence.getValue()) {
            node(item, lines).ifPresent(nodes::add);
        }
        if (problems.size() == before && nodes.stream().noneMatch(Node::isLocal)) {
            problem(value, "every node has launch; one node must be this host, that is, have none");
        }
        return nodes;
    }

    private Optional<Node> node(org.snakeyaml.engine.v2.nodes.Node item, Map<String, Integer> lines) {
        int before = problems.size();
        Map<String, org.snakeyaml.engine.v2.nodes.Node> keys =
                mapping(item, "a node", List.of("name", "device", "port", "gid", "address", "launch"), List.of("name"));
        if (keys == null) {
            return Optional.empty();
        }
        String name = "";
        String device = Node.AUTO;
        int port = 0;
        GidSelector gid = GidSelector.AUTO;
        InetAddress address = null;
        List<String> launch = List.of();
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
                default -> throw new IllegalStateException(entry.getKey());
            }
        }
        return problems.size() > before
                ? Optional.empty()
                : Optional.of(new Node(fabric, name, device, port, gid, address, launch));
    }

    private GidSelector gid(org.snakeyaml.engine.v2.nodes.Node value) {
        if ("auto".equals(text(value))) {
            return GidSelector.AUTO;
        }
        int before = problems.size();
        Map<String, org.snakeyaml.engine.v2.nodes.Node> keys =
                mapping(value, "gid", List.of("type", "family", "index"), List.of());
        if (keys == null) {
            return GidSelector.AUTO;
        }
        org.snakeyaml.engine.v2.nodes.Node index = keys.get("index");
        if (keys.isEmpty() && problems.size() == before) {
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
        if (problems.size() > before) {
            return GidSelector.AUTO;
        }
        return new GidSelector(index == null ? OptionalInt.empty() : OptionalInt.of(number), type, family);
    }

    private static Set<String> without(Set<String> keys, String key) {
        Set<String> others = new LinkedHashSet<>(keys);
        others.remove(key);
        return others;
    }

    private <T> @Nullable T choice(org.snakeyaml.engine.v2.nodes.@Nullable Node value, String what, T[] choices) {
        if (value == null) {
            return null;
        }
        String text = text(value);
        for (T choice : choices) {
            if (choice.toString().equals(text)) {
                return choice;
            }
        }
        List<String> allowed = Stream.of(choices).map(Object::toString).toList();
        problem(
                value,
                what + " " + shown(value) + " is unknown; allowed: " + list(allowed) + didYouMean(text, allowed));
        return null;
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

    private int integer(org.snakeyaml.engine.v2.nodes.Node value, String what, int from, int to, String or) {
        if (value.getTag().equals(Tag.INT)) {
            try {
                int number = Integer.parseInt(text(value));
                if (number >= from && number <= to) {
                    return number;
                }
            } catch (NumberFormatException e) {
                // falls through to the one message for everything that is no number in the range
            }
        }
        problem(value, what + " " + shown(value) + " is out of range; allowed: " + from + " … " + to + or);
        return from;
    }

    /** Returns a scalar's text; empty for null and for everything that is not a scalar, which no check accepts. */
    private static String text(org.snakeyaml.engine.v2.nodes.Node value) {
        return value instanceof ScalarNode scalar && !scalar.getTag().equals(Tag.NULL) ? scalar.getValue() : "";
    }

    private static String shown(org.snakeyaml.engine.v2.nodes.Node value) {
        if (value instanceof ScalarNode scalar) {
            return scalar.getTag().equals(Tag.NULL) ? "nothing" : "'" + scalar.getValue() + "'";
        }
        if (value instanceof SequenceNode sequence) {
            return sequence.getValue().isEmpty() ? "an empty list" : "a list";
        }
        return "a mapping";
    }

    private static String list(List<String> words) {
        return String.join(", ", words);
    }

    private static String didYouMean(String word, List<String> allowed) {
        return allowed.stream()
                .filter(other -> distance(word.toLowerCase(Locale.ROOT), other.toLowerCase(Locale.ROOT))
                        <= Math.max(1, other.length() / 3))
                .findFirst()
                .map(other -> " (did you mean '" + other + "'?)")
                .orElse("");
    }

    /** The number of insertions, deletions and replacements that turn one word into the other. */
    private static int distance(String from, String to) {
        int[] row = new int[to.length() + 1];
        for (int j = 0; j < row.length; j++) {
            row[j] = j;
        }
        for (int i = 1; i <= from.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j < row.length; j++) {
                int replaced = diagonal + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[to.length()];
    }
}
