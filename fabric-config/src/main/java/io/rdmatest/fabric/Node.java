package io.rdmatest.fabric;

import java.net.InetAddress;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A place that a role of a scenario runs on: a device and port of this host, or another host that a command reaches.
 *
 * @param fabric the name of the fabric that the node belongs to
 * @param name unique in its fabric: letters, digits, dot, underscore, hyphen
 * @param device the name of an RDMA device, for example {@code mlx5_0}, or {@link #AUTO}
 * @param port the port of the device, 1 … 255, or 0 for the first active one
 * @param gid which GID of the port is used
 * @param address the IP address that peers reach the node at; null for the address of the selected GID
 * @param launch the command that gives a stdin and a stdout to a JVM on that node; empty for this host
 * @param promises what the device has to be able to do
 */
public record Node(
        String fabric,
        String name,
        String device,
        int port,
        GidSelector gid,
        @Nullable InetAddress address,
        List<String> launch,
        Promises promises) {

    /** Stands for the first active device. */
    public static final String AUTO = "auto";

    /** Copies the command. */
    public Node {
        Objects.requireNonNull(fabric, "fabric");
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(device, "device");
        Objects.requireNonNull(gid, "gid");
        Objects.requireNonNull(promises, "promises");
        launch = List.copyOf(launch);
        if (port < 0 || port > 255) {
            throw new IllegalArgumentException("port " + port + " is not in 1 … 255 (0: the first active port)");
        }
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

    /** Tells whether the node is this host. */
    public boolean isLocal() {
        return launch.isEmpty();
    }

    /**
     * Finds the node's device, port and GID on this host. Opens devices to look at them, and closes them again.
     *
     * @return what was found
     * @throws FabricException if there is no such device, port or GID, none is active, or the node is another host; says
     *     what was seen and what to do
     * @throws io.rdmatest.NativeLibraryException if librdmacm or libibverbs is not installed
     */
    public FabricDevice resolve() {
        return DeviceResolver.resolve(this);
    }
}
