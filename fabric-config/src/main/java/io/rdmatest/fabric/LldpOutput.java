package io.rdmatest.fabric;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The neighbours of one node, as lldpctl(8) prints them. Each neighbour is a map of the keys of {@code -f keyvalue}, without the
 * interface, such as {@code chassis.name}. The values of a key that repeats are a list.
 */
final class LldpOutput {

    private static final List<String> ID_KINDS = List.of("mac", "local", "ifname", "ip", "ifalias", "unhandled");
    private static final Pattern LINE = Pattern.compile("lldp\\.([^=]+?)\\.((?:via|rid|chassis\\.[^=]+))=(.*)");
    /** These keys appear once in a neighbour. In {@code -f keyvalue}, a second one begins the next neighbour. */
    private static final Pattern ONCE =
            Pattern.compile("via|rid|chassis\\.(?:name|" + String.join("|", ID_KINDS) + ")");

    private static final Pattern CAPABILITY = Pattern.compile("chassis\\.[A-Z]\\w*\\.enabled");

    private final String host;
    private final Map<String, List<Map<String, List<String>>>> neighbours = new LinkedHashMap<>();

    private LldpOutput(String host) {
        this.host = host;
    }

    static boolean begins(String line) {
        return line.startsWith("lldp.");
    }

    /**
     * Reads the output of {@code lldpctl -f keyvalue}.
     *
     * @param host the host that it is of, which it does not name
     */
    static List<CabledPort> keyValues(String host, String text) {
        LldpOutput output = new LldpOutput(host);
        text.lines().forEach(line -> {
            Matcher found = LINE.matcher(line);
            if (found.matches()) {
                List<Map<String, List<String>>> its =
                        output.neighbours.computeIfAbsent(found.group(1), ignored -> new ArrayList<>());
                String key = found.group(2);
                if (its.isEmpty()
                        || ONCE.matcher(key).matches() && its.getLast().containsKey(key)) {
                    its.add(new HashMap<>());
                }
                add(its.getLast(), key, found.group(3));
            }
        });
        return output.ports();
    }

    /**
     * Reads the output of {@code lldpctl -f json} or {@code -f json0}. In the former, one member is an object and several are an
     * array. In the latter, each is an array.
     *
     * @param host the host that it is of, which it does not name
     * @throws FabricException if it is not such an output; the message is the end of a sentence that begins with the file
     */
    static List<CabledPort> json(String host, String text) {
        JsonNode lldp;
        try {
            lldp = new ObjectMapper().readTree(text).path("lldp");
        } catch (JsonProcessingException e) {
            throw new FabricException("is not the whole output of lldpctl -f json: line "
                    + e.getLocation().getLineNr() + ": "
                    + e.getOriginalMessage().lines().findFirst().orElse(""));
        }
        if (lldp.isMissingNode()) {
            throw new FabricException("is no output of lldpctl -f json: it has no key lldp");
        }
        LldpOutput output = new LldpOutput(host);
        for (JsonNode each : list(one(lldp).path("interface"))) {
            if (each.path("name").isTextual()) {
                output.add(each.path("name").asText(), each);
            } else {
                each.properties().forEach(named -> output.add(named.getKey(), named.getValue()));
            }
        }
        return output.ports();
    }

    private void add(String networkInterface, JsonNode neighbour) {
        Map<String, List<String>> keys = new HashMap<>();
        JsonNode chassis = one(neighbour.path("chassis"));
        String name = value(chassis.path("name"));
        // In -f json, the name of a chassis is the key of its members.
        if (value(chassis.path("id")).isEmpty() && chassis.size() == 1) {
            name = chassis.fieldNames().next();
            chassis = chassis.path(name);
        }
        JsonNode id = one(chassis.path("id"));
        add(keys, "via", neighbour.path("via").asText());
        add(keys, "chassis." + id.path("type").asText(), value(id));
        add(keys, "chassis.name", name);
        list(chassis.path("mgmt-ip")).forEach(address -> add(keys, "chassis.mgmt-ip", value(address)));
        list(chassis.path("capability"))
                .forEach(each -> add(
                        keys,
                        "chassis." + each.path("type").asText() + ".enabled",
                        each.path("enabled").asBoolean() ? "on" : "off"));
        neighbours
                .computeIfAbsent(networkInterface, ignored -> new ArrayList<>())
                .add(keys);
    }

    private static void add(Map<String, List<String>> keys, String key, String value) {
        if (!value.isBlank()) {
            keys.computeIfAbsent(key, ignored -> new ArrayList<>()).add(value);
        }
    }

    private static Iterable<JsonNode> list(JsonNode node) {
        return node.isArray() ? node : node.isMissingNode() ? List.of() : List.of(node);
    }

    private static JsonNode one(JsonNode node) {
        return node.isArray() ? node.path(0) : node;
    }

    private static String value(JsonNode node) {
        JsonNode one = one(node);
        return one.isObject() ? one.path("value").asText() : one.asText();
    }

    private List<CabledPort> ports() {
        List<CabledPort> ports = new ArrayList<>();
        neighbours.forEach((networkInterface, all) -> {
            // A port has one cable. Other neighbours are a BMC behind the same port, or the switch by another protocol.
            List<Map<String, List<String>>> likely = all;
            likely = prefer(likely, keys -> !isStation(keys));
            likely = prefer(likely, keys -> first(keys, "via", "LLDP").equals("LLDP"));
            likely = prefer(likely, LldpOutput::forwards);
            for (Map<String, List<String>> keys : likely) {
                String kind = ID_KINDS.stream()
                        .filter(each -> keys.containsKey("chassis." + each))
                        .findFirst()
                        .orElse("");
                CabledPort.Switch leaf = new CabledPort.Switch(
                        kind,
                        first(keys, "chassis." + kind, ""),
                        CabledPort.plain(first(keys, "chassis.name", "")),
                        Set.copyOf(keys.getOrDefault("chassis.mgmt-ip", List.of())),
                        isStation(keys));
                if (!leaf.name().isEmpty() || !CabledPort.plain(leaf.id()).isEmpty()) {
                    ports.add(new CabledPort(host, "", 0, networkInterface, leaf));
                }
            }
        });
        return ports;
    }

    private static boolean isStation(Map<String, List<String>> keys) {
        return !forwards(keys) && keys.keySet().stream().anyMatch(CAPABILITY.asMatchPredicate());
    }

    private static boolean forwards(Map<String, List<String>> keys) {
        return first(keys, "chassis.Bridge.enabled", "off").equals("on")
                || first(keys, "chassis.Router.enabled", "off").equals("on");
    }

    private static String first(Map<String, List<String>> keys, String key, String otherwise) {
        return keys.getOrDefault(key, List.of(otherwise)).getFirst();
    }

    private static <T> List<T> prefer(List<T> all, Predicate<T> preferred) {
        List<T> some = all.stream().filter(preferred).toList();
        return some.isEmpty() ? all : some;
    }
}
