package io.rdmatest.fabric;

import java.net.InetAddress;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A device of a node. Rails of the same name on different nodes belong together: they are cabled to the same plane of switches.
 *
 * @param name the name of the rail, unique in its node; empty if the file gives the node one device and no rails
 * @param device the name of an RDMA device, for example {@code mlx5_0}, or {@link #AUTO}
 * @param port the port of the device, 1 … 255, or 0 for the first active one
 * @param gid which GID of the port is used
 * @param address the IP address that peers reach the node at on this rail; null for the address of the selected GID
 * @param scope the network interface on the node that a link-local address is on, by name or index; empty if the file does not
 *     name it
 * @param promises the promised properties of the device
 * @param leaf the switch that the device's port is cabled to; null if the file does not name it
 */
public record Rail(
        String name,
        String device,
        int port,
        GidSelector gid,
        @Nullable InetAddress address,
        String scope,
        Promises promises,
        @Nullable String leaf) {

    /** The first device with an active port; devices whose port has an IP address come first. */
    public static final String AUTO = "auto";

    /** Checks the port. */
    public Rail {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(device, "device");
        Objects.requireNonNull(gid, "gid");
        Objects.requireNonNull(scope, "scope");
        Objects.requireNonNull(promises, "promises");
        if (port < 0 || port > 255) {
            throw new IllegalArgumentException("port " + port + " is not in 1 … 255 (0: the first active port)");
        }
    }

    Rail onPort(String otherDevice, int otherPort) {
        return new Rail(name, otherDevice, otherPort, gid, address, scope, promises, leaf);
    }

    Rail onGid(int index) {
        return new Rail(name, device, port, GidSelector.ofIndex(index), null, "", promises, leaf);
    }

    /** Returns the text of the address with its scope; {@code auto} if the file does not say it. */
    String addressText() {
        return address == null ? AUTO : address.getHostAddress() + (scope.isEmpty() ? "" : "%" + scope);
    }

    /** Returns a text about this rail, with its {@link #prefix}. */
    String say(String text) {
        return prefix(name) + text;
    }

    /** Returns the beginning of a text about a rail: its name, or nothing if it has none. */
    static String prefix(String name) {
        return name.isEmpty() ? "" : "rail " + name + ": ";
    }
}
