package io.rdmatest.fabric;

import java.net.InetAddress;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A host on which a role of a scenario runs: this host with a device and port, or another host that a command reaches.
 *
 * @param fabric the name of the fabric that the node belongs to
 * @param name unique in its fabric: letters, digits, dot, underscore, hyphen
 * @param device the name of an RDMA device, for example {@code mlx5_0}, or {@link #AUTO}; for a node with rails, the
 *     device of its first rail
 * @param port the port of the device, 1 … 255, or 0 for the first active one
 * @param gid which GID of the port is used
 * @param address the IP address that peers reach the node at; null for the address of the selected GID
 * @param scope the network interface on the node that a link-local address is on, by name or index; empty if the file
 *     does not name it
 * @param launch the command that gives a stdin and a stdout to a JVM on that node; empty for this host
 * @param promises the promised properties of the device
 * @param rails the devices of a node that has several, by the name of the rail and in the file's order; empty for a node
 *     with one device
 * @param java the program {@code java} on a launched node: a command on its PATH or an absolute path
 * @param environment additional environment variables of a launched node's JVM; may be empty
 * @param leaf the switch that the device's port is cabled to; null if the file does not name it
 */
public record Node(
        String fabric,
        String name,
        String device,
        int port,
        GidSelector gid,
        @Nullable InetAddress address,
        String scope,
        List<String> launch,
        Promises promises,
        Map<String, Rail> rails,
        String java,
        Map<String, String> environment,
        @Nullable String leaf) {

    /** The first device with an active port; devices whose port has an IP address come first. */
    public static final String AUTO = "auto";

    /** The default of {@link #java()}: the one on the PATH of the node. */
    public static final String DEFAULT_JAVA = "java";

    /** Copies the command, the rails and the environment. */
    public Node {
        Objects.requireNonNull(fabric, "fabric");
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(device, "device");
        Objects.requireNonNull(gid, "gid");
        Objects.requireNonNull(scope, "scope");
        Objects.requireNonNull(promises, "promises");
        Objects.requireNonNull(java, "java");
        launch = List.copyOf(launch);
        rails = Collections.unmodifiableMap(new LinkedHashMap<>(rails));
        environment = Collections.unmodifiableMap(new LinkedHashMap<>(environment));
        if (port < 0 || port > 255) {
            throw new IllegalArgumentException("port " + port + " is not in 1 … 255 (0: the first active port)");
        }
    }

    /** Creates a node with one device and the default java and environment. */
    public Node(
            String fabric,
            String name,
            String device,
            int port,
            GidSelector gid,
            @Nullable InetAddress address,
            List<String> launch,
            Promises promises) {
        this(fabric, name, device, port, gid, address, "", launch, promises, Map.of(), DEFAULT_JAVA, Map.of(), null);
    }

    /** Creates a node that promises nothing. */
    public Node(
            String fabric,
            String name,
            String device,
            int port,
            GidSelector gid,
            @Nullable InetAddress address,
            List<String> launch) {
        this(fabric, name, device, port, gid, address, launch, Promises.NONE);
    }

    /** Returns whether the node is this host. */
    public boolean isLocal() {
        return launch.isEmpty();
    }

    /**
     * Returns the node as it is on one of its rails: with that rail's device, port, GID, address, promises and leaf.
     *
     * @param rail the name of the rail
     * @return a node that is otherwise the same
     * @throws FabricException if the node has no such rail
     */
    public Node onRail(String rail) {
        Rail found = rails.get(rail);
        if (found == null) {
            throw new FabricException("node " + name + " of fabric " + fabric + " has no rail '" + rail + "'; "
                    + (rails.isEmpty() ? "it has no rails" : "allowed: " + String.join(", ", rails.keySet())));
        }
        return new Node(
                fabric,
                name,
                found.device(),
                found.port(),
                found.gid(),
                found.address(),
                found.scope(),
                launch,
                found.promises(),
                rails,
                java,
                environment,
                found.leaf());
    }

    /** Returns the name of the rail of this node's device; empty for a node without rails, or with another device. */
    public Optional<String> rail() {
        return rails.values().stream()
                .filter(each -> each.device().equals(device) && each.port() == port)
                .map(Rail::name)
                .findFirst();
    }

    /** Returns the node on one of its rails, as if it had no other. */
    Node onRailAlone(String rail) {
        Node on = onRail(rail);
        Map<String, Rail> alone = new LinkedHashMap<>(rails);
        alone.keySet().retainAll(Set.of(rail));
        return new Node(
                fabric,
                name,
                on.device,
                on.port,
                on.gid,
                on.address,
                on.scope,
                launch,
                on.promises,
                alone,
                java,
                environment,
                on.leaf);
    }

    /**
     * Returns the node with another device and port.
     *
     * @param device the name of an RDMA device
     * @param port its port, 1 … 255
     * @return a node that is otherwise the same
     */
    public Node onPort(String device, int port) {
        return new Node(
                fabric, name, device, port, gid, address, scope, launch, promises, rails, java, environment, leaf);
    }

    /** Returns the text of the node's address with its scope; {@code auto} if the file does not say it. */
    String addressText() {
        return address == null ? AUTO : address.getHostAddress() + (scope.isEmpty() ? "" : "%" + scope);
    }

    /**
     * Finds the node's device, port and GID on this host. It opens devices to query them, and closes them again.
     *
     * @return the resolved device
     * @throws FabricException if there is no such device, port or GID, none is active, or the node is another host; the
     *     message has the devices and the cure
     * @throws io.rdmatest.NativeLibraryException if librdmacm or libibverbs is not installed
     */
    public FabricDevice resolve() {
        return DeviceResolver.resolve(this);
    }
}
