package io.rdmatest.fabric;

import io.rdmatest.fabric.yaml.CheckedYaml;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
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
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.SequenceNode;

/**
 * Slurm's topology.conf(5) with its includes, topology.yaml(5), or the output of {@code scontrol show topology} or {@code show
 * topoconf}. A switch without switches below it is a leaf, and so is a block or a ring.
 */
final class SlurmTopology extends CheckedYaml {

    private static final int DEEPEST_INCLUDE = 10;

    private static final Pattern YAML = Pattern.compile("-\\s+topology\\s*:.*");
    private static final Pattern CONF =
            Pattern.compile("(?i)\\s*(?:(?:Switch|Block|Ring)Name\\s*=|Torus\\w*\\s*=|Include\\s).*");
    private static final Pattern INCLUDE = Pattern.compile("(?i)\\s*Include\\s+(\\S+)\\s*");
    /** scontrol prints a list that was in quotes without them, so a space may follow a comma. */
    private static final Pattern KEY =
            Pattern.compile("(\\w+)\\s*=\\s*(?:\"([^\"]*)\"|((?:[^\\s=\"]*,\\s+)*[^\\s=\"]+))");

    private static final List<String> NAMES = List.of("switch", "block", "ring");

    private final List<String> mistakes;
    private final Set<CabledPort> ports = new LinkedHashSet<>();

    private SlurmTopology(Path file, List<String> mistakes) {
        super(file.toString());
        this.mistakes = mistakes;
    }

    static boolean begins(String line) {
        return YAML.matcher(line).matches() || CONF.matcher(line).matches();
    }

    /**
     * Reads a topology.
     *
     * @param mistakes takes a sentence for each line that is passed over
     * @throws FabricException if it is not YAML, although it begins like topology.yaml
     */
    static List<CabledPort> read(Path file, String text, List<String> mistakes) {
        SlurmTopology topology = new SlurmTopology(file, mistakes);
        if (text.lines().anyMatch(line -> YAML.matcher(line).matches())) {
            topology.addYaml(text);
        } else {
            topology.addConf(file, text, 0);
        }
        return List.copyOf(topology.ports);
    }

    @Override
    protected RuntimeException failure(List<String> problems) {
        return new FabricException(problems);
    }

    /** A file has several topologies. A node that is in several has the leaf of the cluster's default. */
    private void addYaml(String text) {
        List<Node> topologies = items(compose(text, "it needs a list of topologies"));
        Stream<Node> defaults = topologies.stream().filter(SlurmTopology::isDefault);
        Stream<Node> others = topologies.stream().filter(each -> !isDefault(each));
        Set<String> known = new LinkedHashSet<>();
        Stream.concat(defaults, others).forEach(topology -> {
            List<CabledPort> its = new ArrayList<>();
            values(topology).values().stream()
                    .flatMap(type -> values(type).values().stream())
                    .flatMap(list -> items(list).stream())
                    .forEach(each -> addLeaf(source + ":" + line(each), texts(each), its));
            its.stream().filter(port -> !known.contains(port.host())).forEach(ports::add);
            its.forEach(port -> known.add(port.host()));
        });
    }

    private static boolean isDefault(Node topology) {
        return texts(topology).getOrDefault("cluster_default", "").equals("true");
    }

    private static Map<String, String> texts(Node mapping) {
        Map<String, String> texts = new LinkedHashMap<>();
        values(mapping).forEach((key, value) -> texts.put(key, text(value)));
        return texts;
    }

    private static Map<String, Node> values(Node mapping) {
        Map<String, Node> values = new LinkedHashMap<>();
        if (mapping instanceof MappingNode there) {
            there.getValue().forEach(entry -> values.put(text(entry.getKeyNode()), entry.getValueNode()));
        }
        return values;
    }

    private static List<Node> items(Node list) {
        return list instanceof SequenceNode there ? there.getValue() : List.of();
    }

    /** Reads lines as slurm.conf(5) describes them: comments, continued lines, spaces around =, quotes, includes. */
    private void addConf(Path file, String text, int depth) {
        StringBuilder joined = new StringBuilder();
        int number = 0;
        for (String each : (Iterable<String>) text.lines()::iterator) {
            number++;
            String line = each.replaceFirst("(?<!\\\\)#.*", "");
            if (line.endsWith("\\")) {
                joined.append(line, 0, line.length() - 1).append(' ');
                continue;
            }
            String whole = joined.append(line).toString();
            joined.setLength(0);
            Matcher include = INCLUDE.matcher(whole);
            if (include.matches()) {
                include(file, file + ":" + number, include.group(1), depth + 1);
                continue;
            }
            Map<String, String> keys = new LinkedHashMap<>();
            Matcher key = KEY.matcher(whole);
            while (key.find()) {
                keys.put(
                        key.group(1).toLowerCase(Locale.ROOT).replaceFirst("^(switch|block|ring)name$", "$1"),
                        key.group(2) == null ? key.group(3) : key.group(2));
            }
            addLeaf(file + ":" + number, keys, ports);
        }
    }

    private void include(Path file, String where, String name, int depth) {
        Path included = file.resolveSibling(name);
        if (depth > DEEPEST_INCLUDE) {
            mistakes.add(where + ": Include " + name + ": files include each other more than " + DEEPEST_INCLUDE
                    + " levels deep");
            return;
        }
        try {
            addConf(included, new String(Files.readAllBytes(included), StandardCharsets.UTF_8), depth);
        } catch (IOException e) {
            mistakes.add(where + ": Include " + name + ": " + included + " can't be read: "
                    + (e instanceof NoSuchFileException ? "there is no such file; copy it there" : e));
        }
    }

    private void addLeaf(String where, Map<String, String> keys, Collection<CabledPort> to) {
        String name = NAMES.stream()
                .filter(keys::containsKey)
                .map(keys::get)
                .findFirst()
                .orElse("");
        // A switch above other switches also lists the nodes of those.
        if (name.isEmpty()
                || keys.containsKey("switches")
                || keys.containsKey("children")
                || !keys.containsKey("nodes")) {
            return;
        }
        try {
            if (CabledPort.plain(name).isEmpty()) {
                throw new FabricException("'" + name + "' is no name that a leaf may have");
            }
            CabledPort.Switch leaf = new CabledPort.Switch("slurm", name, CabledPort.plain(name), Set.of(), false);
            HostList.of(keys.get("nodes")).forEach(host -> to.add(new CabledPort(host, "", 0, "", leaf)));
        } catch (FabricException e) {
            mistakes.add(where + ": " + e.getMessage());
        }
    }
}
