package io.rdmatest.fabric;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The nodes and devices that tests run on.
 *
 * <p>Read from a YAML file: {@code fabric} (its name) and {@code nodes}, and optionally {@code promises}, {@code
 * thresholds}, {@code faults} and {@code microvm}. A node has a {@code name} and optionally {@code device}, {@code
 * port}, {@code gid}, {@code address} or, instead of these, {@code rails}; {@code launch}, {@code java} and {@code
 * environment}; and {@code promises}. At least one node has no {@code launch}: it is this host. {@link #schema()} has
 * all details.
 */
public final class Fabric {

    private final String name;
    private final String source;
    private final List<Node> nodes;
    private final Terms terms;

    /** The rail that all nodes are on; null if none was selected. */
    private final @Nullable String rail;

    /** The properties of the whole fabric. */
    record Terms(Thresholds thresholds, boolean faultsAllowed, int microvms) {
        static final Terms NONE = new Terms(Thresholds.NONE, false, 0);
    }

    Fabric(String name, String source, List<Node> nodes, Terms terms) {
        this(name, source, nodes, terms, null);
    }

    private Fabric(String name, String source, List<Node> nodes, Terms terms, @Nullable String rail) {
        this.name = name;
        this.source = source;
        this.nodes = List.copyOf(nodes);
        this.terms = terms;
        this.rail = rail;
    }

    /**
     * Reads the fabric that {@value FabricConfiguration#FABRIC} selects, on the rail that {@value FabricConfiguration#RAIL}
     * selects, with the device that {@value FabricConfiguration#DEVICE} overrides.
     *
     * @return the fabric
     * @throws FabricException if there is no such fabric, its file is invalid, it has no such rail, or the device does
     *     not have the form {@code name} or {@code name/port}
     */
    public static Fabric load() {
        return load(Objects.requireNonNullElse(
                System.getProperty(FabricConfiguration.FABRIC), FabricConfiguration.DEFAULT_FABRIC));
    }

    /**
     * Reads a fabric, with the device that {@value FabricConfiguration#DEVICE} overrides.
     *
     * @param nameOrPath a name or the path of a YAML file, as in {@link FabricConfiguration#FABRIC}
     * @return the fabric
     * @throws FabricException if there is no such fabric, its file is invalid, it has no such rail, or the device does
     *     not have the form {@code name} or {@code name/port}
     */
    public static Fabric load(String nameOrPath) {
        return load(
                nameOrPath,
                System.getProperty(FabricConfiguration.RAIL),
                System.getProperty(FabricConfiguration.DEVICE));
    }

    /**
     * Reads a fabric, independent of the system properties.
     *
     * @param nameOrPath a name or the path of a YAML file, as in {@link FabricConfiguration#FABRIC}
     * @param rail the rail, as in {@link FabricConfiguration#RAIL}; null or blank for none
     * @param device the device, as in {@link FabricConfiguration#DEVICE}; null or blank for none
     * @return the fabric
     * @throws FabricException if there is no such fabric, its file is invalid, it has no such rail, or the device does
     *     not have the form {@code name} or {@code name/port}
     */
    public static Fabric load(String nameOrPath, @Nullable String rail, @Nullable String device) {
        Fabric fabric = FabricFiles.find(nameOrPath);
        if (rail != null && !rail.isBlank()) {
            fabric = fabric.onRail(rail.strip());
        }
        return device == null || device.isBlank() ? fabric : fabric.withDevice(device.strip());
    }

    /**
     * Finds the file that a fabric is read from.
     *
     * @param nameOrPath a name or the path of a YAML file, as in {@link FabricConfiguration#FABRIC}
     * @return the file; that of a built-in fabric if there is one with its name; empty if there is none
     */
    public static Optional<Path> file(String nameOrPath) {
        return FabricFiles.file(nameOrPath);
    }

    /**
     * Returns the part of the fabric on one rail: the nodes that have it, each with only its device of that rail.
     *
     * @param name the name of the rail
     * @return a fabric that is otherwise the same
     * @throws FabricException if no node, or no node of this host, has such a rail
     */
    public Fabric onRail(String name) {
        List<Node> on = nodes.stream()
                .filter(node -> node.railNames().contains(name))
                .map(node -> node.withOnly(node.onRail(name).rail()))
                .toList();
        if (on.isEmpty()) {
            throw new FabricException(FabricConfiguration.RAIL + "=" + name + ": fabric " + this
                    + (rails().isEmpty()
                            ? " has no rails"
                            : " has no such rail; allowed: " + String.join(", ", rails())));
        }
        if (on.stream().noneMatch(Node::isLocal)) {
            throw new FabricException(FabricConfiguration.RAIL + "=" + name + ": this host's node " + local().name()
                    + " of fabric " + this + " is not on it; "
                    + (local().railNames().isEmpty()
                            ? "it has no rails"
                            : "allowed: " + String.join(", ", local().railNames())));
        }
        return new Fabric(this.name, source, on, terms, name);
    }

    /**
     * Replaces the local node's device. The same device with the same port changes nothing.
     *
     * @param device {@code name}, {@code name/port} or {@code auto}
     * @return a fabric that is otherwise the same
     * @throws FabricException if the device has another form, or would replace a node's rails
     */
    public Fabric withDevice(String device) {
        Node old = local();
        Node changed = localOn(device);
        if (changed.equals(old)) {
            return this;
        }
        if (!old.railNames().isEmpty()) {
            throw new FabricException(FabricConfiguration.DEVICE + "=" + device + " would leave node " + old.name()
                    + " of fabric " + this + " without its rails ("
                    + String.join(", ", old.railNames())
                    + "); set no device, or select a fabric without rails with -D"
                    + FabricConfiguration.FABRIC);
        }
        List<Node> replaced = new ArrayList<>(nodes);
        replaced.set(nodes.indexOf(old), changed);
        return new Fabric(name, source, replaced, terms, rail);
    }

    /**
     * Returns the local node with another device. The file's address, rails and promises belong to the old device, so
     * they are dropped.
     *
     * @param device {@code name}, {@code name/port} or {@code auto}
     * @return the local node itself if it already has this device and port; else a node with this device only
     * @throws FabricException if the device has another form
     */
    public Node localOn(String device) {
        DeviceName wanted;
        try {
            wanted = DeviceName.parse(device);
        } catch (IllegalArgumentException e) {
            throw new FabricException(FabricConfiguration.DEVICE + "=" + e.getMessage());
        }
        Node old = local();
        Rail its = old.port().rail();
        boolean same = its.device().equals(wanted.name());
        if (same && (wanted.port() == 0 || wanted.port() == its.port())) {
            return old;
        }
        // Address and promises belong to the device and port of the file.
        Promises promises = same || its.device().equals(Rail.AUTO) ? its.promises() : Promises.NONE;
        return old.withOnly(new Rail("", wanted.name(), wanted.port(), its.gid(), null, "", promises, null));
    }

    /** Returns the names that {@link #load(String)} finds from the working directory, sorted; never empty. */
    public static List<String> available() {
        return FabricFiles.names();
    }

    /** Returns the fabric's name. */
    public String name() {
        return name;
    }

    /** Returns where it was read from, for messages: a path, or {@code bundled:auto.yaml}. */
    public String source() {
        return source;
    }

    /**
     * Returns the nodes of a server and a client. By default the client is on this host and the server on the first
     * other node.
     *
     * @param server the server's node; null for the first other than the client's
     * @param client the client's node; null for this host's, or the first other than the server's
     * @return both nodes; the same node if there is no other
     * @throws FabricException if there is no such node
     */
    public NodePair pair(@Nullable String server, @Nullable String client) {
        Node local = local();
        Node first = client != null ? nodeNamed(client) : local.name().equals(server) ? other(local) : local;
        return new NodePair(server != null ? nodeNamed(server) : other(first), first);
    }

    private Node other(Node node) {
        return nodes.stream()
                .filter(each -> !each.name().equals(node.name()))
                .findFirst()
                .orElse(node);
    }

    /** Returns all nodes in the file's order; never empty. */
    public List<Node> nodes() {
        return nodes;
    }

    /** Returns the first node that is this host. */
    public Node local() {
        return nodes.stream().filter(Node::isLocal).findFirst().orElseThrow();
    }

    /** Returns the nodes that a command reaches; may be empty. */
    public List<Node> remoteNodes() {
        return nodes.stream().filter(Predicate.not(Node::isLocal)).toList();
    }

    /**
     * Finds a node by its name.
     *
     * @param node the name
     * @return the node; empty if there is none
     */
    public Optional<Node> node(String node) {
        return nodes.stream().filter(each -> each.name().equals(node)).findFirst();
    }

    /**
     * Returns the node with a name.
     *
     * @param node the name
     * @return the node
     * @throws FabricException if there is none; the message lists the nodes
     */
    public Node nodeNamed(String node) {
        return node(node)
                .orElseThrow(() -> new FabricException("fabric %s has no node '%s'; allowed: %s"
                        .formatted(this, node, nodes.stream().map(Node::name).collect(Collectors.joining(", ")))));
    }

    /** Returns the names of all rails in the file's order; empty for a fabric of nodes with one device each. */
    public Set<String> rails() {
        Set<String> rails = new LinkedHashSet<>();
        nodes.forEach(node -> rails.addAll(node.railNames()));
        return rails;
    }

    /** Returns the performance thresholds. */
    public Thresholds thresholds() {
        return terms.thresholds();
    }

    /** Returns whether tests may inject faults: packet loss, links down, killed peers. */
    public boolean faultsAllowed() {
        return terms.faultsAllowed();
    }

    /**
     * Returns how many of the project's virtual machines the fabric consists of, each with {@code rxe0}. The first one
     * reaches the others by {@code on-node}. 0 for a fabric of real hosts.
     */
    public int microvms() {
        return terms.microvms();
    }

    /** Returns the name of the project's virtual machine in which this JVM runs; empty on a host. */
    public static Optional<String> machine() {
        return Optional.ofNullable(System.getenv("RDMA_NODE"));
    }

    /**
     * Returns the JSON schema of fabric files, draft 2020-12, for editors.
     *
     * @return the text of the schema
     */
    public static String schema() {
        try (InputStream schema = Fabric.class.getResourceAsStream("fabrics/fabric.schema.json")) {
            return new String(
                    Objects.requireNonNull(schema, "fabrics/fabric.schema.json").readAllBytes(),
                    StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException("can't read the schema of fabric files", e);
        }
    }

    @Override
    public String toString() {
        return name + (rail == null ? "" : " on rail " + rail) + " (" + source + ")";
    }
}
