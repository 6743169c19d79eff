package io.rdmatest.fabric;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;

/**
 * Finds the leaf switch that each port of a fabric is cabled to, from the output of other programs: {@code ibnetdiscover}, {@code
 * lldpctl -f json} or {@code -f keyvalue} on each node, or Slurm's {@code topology.conf} or {@code scontrol show topology}.
 */
public final class FabricLeaves {

    /** The programs whose output is understood. */
    public enum Format {
        /** {@code ibnetdiscover}, of one subnet. */
        IBNETDISCOVER("ibnetdiscover"),
        /** {@code lldpctl -f json} of one node. The file has the name of the node. */
        LLDP_JSON("lldpctl -f json"),
        /** {@code lldpctl -f keyvalue} of one node. The file has the name of the node. */
        LLDP_KEYVALUE("lldpctl -f keyvalue"),
        /** {@code topology.conf} or {@code scontrol show topology}. */
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

    /** A port and its leaf. Unknown components are empty, or 0. */
    private record Port(String host, String device, int number, String networkInterface, String leaf) {}

    /**
     * The leaf of a port of the fabric.
     *
     * @param node the name of its node
     * @param rail its rail; empty for a node without rails
     * @param leaf the leaf; null if it was not found
     * @param before the leaf in the fabric file; null if it has none
     * @param why the reason why the leaf was not found, with the cure; empty if it was found
     */
    public record Found(
            String node,
            String rail,
            @Nullable String leaf,
            @Nullable String before,
            String why) {}

    private static final int MOST_HOSTS = 1_000_000;

    private static final Pattern SWITCH =
            Pattern.compile("^Switch\\s+\\d+\\s+\"(S-[0-9a-fA-F]+)\"\\s*#\\s*\"([^\"]*)\".*");
    private static final Pattern ADAPTER = Pattern.compile("^Ca\\s+\\d+\\s+\"H-[0-9a-fA-F]+\"\\s*#\\s*\"([^\"]*)\".*");
    private static final Pattern CABLE =
            Pattern.compile("^\\[(\\d{1,3})](?:\\[ext \\d+])?(?:\\([0-9a-fA-F]+\\))?\\s+\"(S-[0-9a-fA-F]+)\".*");
    private static final Pattern KEY_VALUE = Pattern.compile("^lldp\\.(.+)\\.chassis\\.(name|mac|ifname|local)=(.*)$");
    private static final Pattern SLURM_LINE = Pattern.compile("(?i)^\\s*(?:SwitchName|BlockName)=.*");
    private static final Pattern SLURM_KEY = Pattern.compile("(\\w+)=(\\S+)");
    private static final Pattern BRACKETS = Pattern.compile("([^\\[]*)\\[([^]]*)](.*)");
    private static final Pattern RANGE = Pattern.compile("(\\d{1,18})(?:-(\\d{1,18}))?");

    private final Map<Path, Format> formats = new LinkedHashMap<>();
    private final Set<Port> ports = new LinkedHashSet<>();

    private FabricLeaves() {}

    /**
     * Reads files. The content of a file decides its format.
     *
     * @param files at least one
     * @throws FabricException if a file can't be read or has none of the formats; the message names the file and the formats
     */
    public static FabricLeaves read(List<Path> files) {
        FabricLeaves leaves = new FabricLeaves();
        for (Path file : files) {
            String text;
            try {
                text = Files.readString(file);
            } catch (NoSuchFileException e) {
                throw new FabricException(file + " can't be read: there is no such file");
            } catch (CharacterCodingException e) {
                throw new FabricException(file + " can't be read: it is no text in UTF-8");
            } catch (IOException e) {
                throw new FabricException(file + " can't be read: " + e);
            }
            leaves.add(file, text);
        }
        return leaves;
    }

    private void add(Path file, String text) {
        Format format = format(file, text);
        Format ignored = formats.put(file, format);
        int before = ports.size();
        switch (format) {
            case IBNETDISCOVER -> addSubnet(text);
            case LLDP_JSON -> addJson(file, text);
            case LLDP_KEYVALUE -> addKeyValues(file, text);
            case SLURM -> addSlurm(file, text);
        }
        if (ports.size() == before) {
            throw new FabricException(file + " (" + format + ") names no leaf of any node");
        }
    }

    private static Format format(Path file, String text) {
        if (text.stripLeading().startsWith("{")) {
            return Format.LLDP_JSON;
        }
        for (String line : (Iterable<String>) text.lines()::iterator) {
            if (SWITCH.matcher(line).matches() || ADAPTER.matcher(line).matches()) {
                return Format.IBNETDISCOVER;
            }
            if (line.startsWith("lldp.")) {
                return Format.LLDP_KEYVALUE;
            }
            if (SLURM_LINE.matcher(line).matches()) {
                return Format.SLURM;
            }
        }
        throw new FabricException(file
                + " is none of: the output of ibnetdiscover, of lldpctl -f json or lldpctl -f keyvalue, Slurm's topology.conf"
                + " (SwitchName= or BlockName=), the output of scontrol show topology");
    }

    private void addSubnet(String text) {
        Map<String, String> descriptions = new LinkedHashMap<>();
        text.lines().forEach(line -> {
            Matcher found = SWITCH.matcher(line);
            if (found.matches()) {
                descriptions.put(found.group(1), named(found.group(2)));
            }
        });
        String[] words = null;
        for (String line : (Iterable<String>) text.lines()::iterator) {
            Matcher adapter = ADAPTER.matcher(line);
            Matcher cable = CABLE.matcher(line);
            if (adapter.matches()) {
                words = adapter.group(1).replace("'", "").strip().split("\\s+", -1);
            } else if (line.isBlank() || line.startsWith("Switch")) {
                words = null;
            } else if (words != null && cable.matches()) {
                String guid = cable.group(2);
                String description = descriptions.getOrDefault(guid, "");
                // The description of a switch without a name of its own is its model, so several switches may have the
                // same one.
                boolean unique = !description.isEmpty()
                        && descriptions.values().stream()
                                        .filter(description::equals)
                                        .count()
                                == 1;
                ports.add(new Port(
                        words[0],
                        words.length > 1 ? words[1] : "",
                        Integer.parseInt(cable.group(1)),
                        "",
                        unique ? description : guid));
            }
        }
    }

    /** Returns the name of a switch from its description, such as {@code MF0;leaf1:MQM8700/U1}. */
    private static String named(String description) {
        int begin = description.indexOf(';') + 1;
        int end = description.indexOf(':', begin);
        return leaf(begin > 0 && end > begin ? description.substring(begin, end) : description);
    }

    /** Returns a name that a fabric file can have. */
    private static String leaf(String name) {
        String plain = name.strip().replaceAll("[^A-Za-z0-9._-]+", "-").replaceFirst("^[._-]+", "");
        return plain.length() > 253 ? plain.substring(0, 253) : plain;
    }

    /** Returns the host of a file by the file's name, because the content does not name the host. */
    private static String host(Path file) {
        Path name = file.getFileName();
        return name == null ? "" : name.toString().replaceFirst("\\.(json|txt|keyvalue|kv|lldp)$", "");
    }

    private void addKeyValues(Path file, String text) {
        Map<String, Map<String, String>> chassis = new LinkedHashMap<>();
        text.lines().forEach(line -> {
            Matcher found = KEY_VALUE.matcher(line);
            if (found.matches()) {
                chassis.computeIfAbsent(found.group(1), ignored -> new LinkedHashMap<>())
                        .put(found.group(2), found.group(3));
            }
        });
        chassis.forEach((networkInterface, its) -> addNeighbour(
                file,
                networkInterface,
                its.getOrDefault("name", its.values().iterator().next())));
    }

    private void addNeighbour(Path file, String networkInterface, String name) {
        String leaf = leaf(name);
        if (!leaf.isEmpty()) {
            ports.add(new Port(host(file), "", 0, networkInterface, leaf));
        }
    }

    private void addJson(Path file, String text) {
        Object root;
        try {
            // JSON is YAML.
            root = new Load(LoadSettings.builder().setLabel(file.toString()).build()).loadFromString(text);
        } catch (YamlEngineException e) {
            throw new FabricException(file + " is no JSON of lldpctl: "
                    + String.valueOf(e.getMessage()).lines().findFirst().orElse(""));
        }
        Object interfaces = get(get(root, "lldp"), "interface");
        // One interface is an object, several are a list.
        for (Object each :
                interfaces instanceof List<?> list ? list : interfaces == null ? List.of() : List.of(interfaces)) {
            if (each instanceof Map<?, ?> named) {
                named.forEach((networkInterface, content) -> {
                    String chassis = chassis(get(content, "chassis"));
                    if (chassis != null) {
                        addNeighbour(file, String.valueOf(networkInterface), chassis);
                    }
                });
            }
        }
    }

    /** Returns the name of a chassis, which is the key of its members; for a chassis without a name, its id. */
    private static @Nullable String chassis(@Nullable Object chassis) {
        if (!(chassis instanceof Map<?, ?> map) || map.isEmpty()) {
            return null;
        }
        Object id = get(map.get("id"), "value");
        return id != null
                ? id.toString()
                : String.valueOf(map.keySet().iterator().next());
    }

    private static @Nullable Object get(@Nullable Object map, String key) {
        return map instanceof Map<?, ?> there ? there.get(key) : null;
    }

    private void addSlurm(Path file, String text) {
        // A backslash at the end of a line continues it.
        String joined = text.replaceAll("\\\\\\r?\\n", " ");
        for (String line : (Iterable<String>) joined.lines()::iterator) {
            Map<String, String> keys = new LinkedHashMap<>();
            Matcher key = SLURM_KEY.matcher(line.replaceFirst("#.*", ""));
            while (key.find()) {
                keys.put(key.group(1).toLowerCase(Locale.ROOT), key.group(2));
            }
            String name = keys.getOrDefault("switchname", keys.getOrDefault("blockname", ""));
            // A switch above other switches also lists the nodes of those.
            if (name.isEmpty() || keys.containsKey("switches") || !keys.containsKey("nodes")) {
                continue;
            }
            for (String host : hosts(file, keys.get("nodes"))) {
                ports.add(new Port(host, "", 0, "", leaf(name)));
            }
        }
    }

    /** Expands a host list, such as {@code n[01-03,7],login1}. */
    private static List<String> hosts(Path file, String list) {
        List<String> hosts = new ArrayList<>();
        int depth = 0;
        int begin = 0;
        for (int at = 0; at <= list.length(); at++) {
            char next = at == list.length() ? ',' : list.charAt(at);
            depth += next == '[' ? 1 : next == ']' ? -1 : 0;
            if (next == ',' && depth <= 0) {
                expand(file, list.substring(begin, at), hosts);
                begin = at + 1;
            }
        }
        return hosts;
    }

    private static void expand(Path file, String host, List<String> hosts) {
        Matcher brackets = BRACKETS.matcher(host);
        if (!brackets.matches()) {
            if (!host.isEmpty()) {
                hosts.add(host);
            }
            return;
        }
        for (String part : brackets.group(2).split(",", -1)) {
            Matcher range = RANGE.matcher(part.strip());
            if (!range.matches()) {
                throw new FabricException(
                        file + ": '" + host + "' is no list of hosts: '" + part + "' is not a number or a range");
            }
            String first = range.group(1);
            long from = Long.parseLong(first);
            long to = range.group(2) == null ? from : Long.parseLong(range.group(2));
            if (to < from || to - from >= MOST_HOSTS) {
                throw new FabricException(file + ": '" + host + "' is no list of hosts: the range " + part
                        + " is empty or has more than " + MOST_HOSTS + " hosts");
            }
            for (long number = from; number <= to; number++) {
                String digits = String.format(Locale.ROOT, "%0" + first.length() + "d", number);
                expand(file, brackets.group(1) + digits + brackets.group(3), hosts);
            }
        }
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
     */
    public List<Found> of(Fabric fabric, Map<String, String> interfaces) {
        List<Found> found = new ArrayList<>();
        boolean namesDevices = namesDevices(fabric);
        for (Node node : fabric.nodes()) {
            if (node.rails().isEmpty()) {
                found.add(find(node, "", interfaces, namesDevices));
            } else {
                node.rails()
                        .keySet()
                        .forEach(rail -> found.add(find(node.onRail(rail), rail, interfaces, namesDevices)));
            }
        }
        return found;
    }

    /** Returns whether any device has a name of the fabric file. Some hosts describe their devices as HCA-1, for example. */
    private boolean namesDevices(Fabric fabric) {
        Set<String> devices = ports.stream().map(Port::device).collect(Collectors.toSet());
        return fabric.nodes().stream()
                .flatMap(node -> node.rails().isEmpty()
                        ? Stream.of(node)
                        : node.rails().keySet().stream().map(node::onRail))
                .anyMatch(node -> devices.contains(node.device()));
    }

    private Found find(Node node, String rail, Map<String, String> interfaces, boolean namesDevices) {
        List<Port> its =
                ports.stream().filter(port -> isHost(port.host(), node.name())).toList();
        if (its.isEmpty()) {
            return new Found(
                    node.name(),
                    rail,
                    null,
                    node.leaf(),
                    "no host of its name is there; a node has to be called as its host is");
        }
        List<Port> narrowed = its;
        if (!node.device().equals(Node.AUTO)) {
            narrowed = narrow(
                    narrowed,
                    port -> port.device().equals(node.device()),
                    port -> !namesDevices || port.device().isEmpty());
            if (narrowed.isEmpty()) {
                return new Found(
                        node.name(),
                        rail,
                        null,
                        node.leaf(),
                        "its device " + node.device()
                                + " is not there; check the name of the device in the fabric file, and its cable");
            }
        }
        if (node.port() > 0) {
            narrowed = narrow(narrowed, port -> port.number() == node.port(), port -> port.number() == 0);
            if (narrowed.isEmpty()) {
                return new Found(
                        node.name(),
                        rail,
                        null,
                        node.leaf(),
                        "port " + node.port()
                                + " of its device is not there; check the port in the fabric file, and its cable");
            }
        }
        String networkInterface = interfaces.get(rail);
        if (networkInterface != null) {
            List<Port> on = narrowed.stream()
                    .filter(port -> port.networkInterface().isEmpty()
                            || port.networkInterface().equals(networkInterface))
                    .toList();
            if (on.isEmpty()) {
                return new Found(
                        node.name(),
                        rail,
                        null,
                        node.leaf(),
                        "its interface " + networkInterface + " has no neighbour");
            }
            narrowed = on;
        }
        Set<String> leaves = narrowed.stream().map(Port::leaf).collect(Collectors.toCollection(LinkedHashSet::new));
        if (leaves.size() == 1) {
            return new Found(node.name(), rail, leaves.iterator().next(), node.leaf(), "");
        }
        boolean isLldp =
                narrowed.stream().anyMatch(port -> !port.networkInterface().isEmpty());
        return new Found(
                node.name(),
                rail,
                null,
                node.leaf(),
                "its ports are cabled to " + String.join(", ", leaves) + "; "
                        + (isLldp
                                ? "name the interface: --interface " + (rail.isEmpty() ? "" : rail + "=") + "NAME"
                                : "name its device and port in the fabric file"));
    }

    /** Returns the ports that fit. If none fits, returns the ports of which the source does not know the property. */
    private static List<Port> narrow(List<Port> ports, Predicate<Port> fits, Predicate<Port> isUnknown) {
        List<Port> some = ports.stream().filter(fits).toList();
        return some.isEmpty() ? ports.stream().filter(isUnknown).toList() : some;
    }

    private static boolean isHost(String host, String node) {
        return host.equalsIgnoreCase(node)
                || (host.indexOf('.') < 0 || node.indexOf('.') < 0)
                        && shortName(host).equalsIgnoreCase(shortName(node));
    }

    private static String shortName(String host) {
        int dot = host.indexOf('.');
        // The dots of an IP address do not separate a domain.
        return dot < 0 || host.matches("[0-9.]+") ? host : host.substring(0, dot);
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
                .withLeaves((node, rail) -> leaves.get(node.name() + " " + rail));
    }
}
