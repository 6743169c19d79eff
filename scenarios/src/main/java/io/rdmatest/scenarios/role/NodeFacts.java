package io.rdmatest.scenarios.role;

import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.GidEntry;
import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What a node's device looks like from the node itself, where the other side can't look.
 *
 * @param address the IP address that rdma_cm reaches the device at
 * @param ipv4 the IPv4 address of its network interface; null if it has none
 * @param ipv6 a global IPv6 address of its network interface; null if it has none
 * @param gids the GID table of the port
 * @param mtuBytes the active MTU of the port in bytes
 * @param environment what a report shows of the node, as {@link FabricDevice#environment()} has it
 */
public record NodeFacts(
        InetAddress address,
        @Nullable InetAddress ipv4,
        @Nullable InetAddress ipv6,
        List<GidEntry> gids,
        int mtuBytes,
        Map<String, String> environment) {

    /** Copies the table and the environment. */
    public NodeFacts {
        gids = List.copyOf(gids);
        environment = Map.copyOf(environment);
    }

    /** Looks around on the node that it runs on. */
    record Look() implements Role<NodeFacts> {

        @Override
        public NodeFacts run(RoleContext context) {
            return of(context.device());
        }
    }

    /**
     * Looks at a device of this host.
     *
     * @param device the device; opened for the time of the look
     */
    public static NodeFacts of(FabricDevice device) {
        try (DeviceContext context = device.open()) {
            return new NodeFacts(
                    device.address(),
                    Addresses.find(device, true).orElse(null),
                    Addresses.find(device, false).orElse(null),
                    context.gidTable(device.port()),
                    device.portAttributes().activeMtu().bytes(),
                    device.environment());
        }
    }

    /**
     * Returns an address of the node's network interface.
     *
     * @param family true for IPv4, false for a global IPv6 address
     */
    public Optional<InetAddress> address(boolean family) {
        return Optional.ofNullable(family ? ipv4 : ipv6);
    }
}
