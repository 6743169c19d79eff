package io.rdmatest.fabric;

import java.net.InetAddress;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A host on which a role of a scenario runs: this host, or another host that a command reaches. Its devices are its rails.
 *
 * @param fabric the name of the fabric that the node belongs to
 * @param name unique in its fabric: letters, digits, dot, underscore, hyphen
 * @param launch the command that gives a stdin and a stdout to a JVM on that node; empty for this host
 * @param java the program {@code java} on a launched node: a command on its PATH or an absolute path
 * @param environment additional environment variables of a launched node's JVM; may be empty
 * @param rails the devices of the node in the file's order, at least one; the only one may have no name
 */
public record Node(
        String fabric,
        String name,
        List<String> launch,
        String java,
        Map<String, String> environment,
        List<Rail> rails) {

    /** The default of {@link #java()}: the one on the PATH of the node. */
    public static final String DEFAULT_JAVA = "java";

    /**
     * Copies the command, the environment and the rails.
     *
     * @throws IllegalArgumentException if there is no rail
     */
    public Node {
        Objects.requireNonNull(fabric, "fabric");
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(java, "java");
        launch = List.copyOf(launch);
        environment = Collections.unmodifiableMap(new LinkedHashMap<>(environment));
        rails = List.copyOf(rails);
        if (rails.isEmpty()) {
            throw new IllegalArgumentException("node " + name + " has no device");
        }
    }

    /** Creates a node with one device, whose rail has no name and promises nothing. */
    public Node(
            String fabric,
            String name,
            String device,
            int port,
            GidSelector gid,
            @Nullable InetAddress address,
            List<String> launch) {
        this(
                fabric,
                name,
                launch,
                DEFAULT_JAVA,
                Map.of(),
                List.of(new Rail("", device, port, gid, address, "", Promises.NONE, null)));
    }

    /** Returns whether the node is this host. */
    public boolean isLocal() {
        return launch.isEmpty();
    }

    /** Returns the node on its first rail. */
    public NodePort port() {
        return new NodePort(this, rails.getFirst());
    }

    /** Returns the node on each of its rails. */
    public List<NodePort> ports() {
        return rails.stream().map(rail -> new NodePort(this, rail)).toList();
    }

    /**
     * Returns the node on one of its rails.
     *
     * @param rail the name of the rail
     * @throws FabricException if the node has no such rail
     */
    public NodePort onRail(String rail) {
        return ports().stream()
                .filter(port -> port.rail().name().equals(rail))
                .findFirst()
                .orElseThrow(() -> new FabricException("node " + name + " of fabric " + fabric + " has no rail '" + rail
                        + "'; "
                        + (railNames().isEmpty() ? "it has no rails" : "allowed: " + String.join(", ", railNames()))));
    }

    /** Returns the names of the rails in the file's order; empty for a node whose only rail has no name. */
    public List<String> railNames() {
        return rails.stream().map(Rail::name).filter(each -> !each.isEmpty()).toList();
    }

    /** Returns the same host with a single rail. */
    Node withOnly(Rail rail) {
        return new Node(fabric, name, launch, java, environment, List.of(rail));
    }

    /**
     * Finds the device, port and GID of the node's first rail: {@link NodePort#resolve()}.
     *
     * @return the resolved device
     */
    public FabricDevice resolve() {
        return port().resolve();
    }
}
