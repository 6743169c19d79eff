package io.rdmatest.scenarios.node;

import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.scenarios.options.Addresses;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.GidType;
import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The properties of a node's device, as the node itself sees them.
 *
 * @param address the IP address that rdma_cm reaches the device at
 * @param ipv4 the IPv4 address of its network interface; null if it has none
 * @param ipv6 a global IPv6 address of its network interface; null if it has none
 * @param prefixBits the length of the address's network prefix in bits; 0 if unknown
 * @param gid the GID that the device was resolved to
 * @param gids the entries of the port's GID table that are usable in the node's network namespace
 * @param mtuBytes the active MTU of the port in bytes
 * @param environment the node's environment for reports, as in {@link FabricDevice#environment()}
 */
public record NodeFacts(
        InetAddress address,
        @Nullable InetAddress ipv4,
        @Nullable InetAddress ipv6,
        int prefixBits,
        GidEntry gid,
        List<GidEntry> gids,
        int mtuBytes,
        Map<String, String> environment) {

    /** Copies the table and the environment. */
    public NodeFacts {
        gids = List.copyOf(gids);
        environment = Map.copyOf(environment);
    }

    /** Reads the facts of the node that it runs on. */
    record Look() implements Role<NodeFacts> {

        @Override
        public NodeFacts run(RoleContext context) {
            return of(context.device());
        }
    }

    /**
     * Reads the facts of a device of this host.
     *
     * @param device the device; opened during the call
     */
    public static NodeFacts of(FabricDevice device) {
        try (DeviceContext context = device.open()) {
            return new NodeFacts(
                    device.address(),
                    Addresses.find(device, true).orElse(null),
                    Addresses.find(device, false).orElse(null),
                    Addresses.prefixBits(device.address()),
                    device.gid(),
                    context.gidTable(device.port()).stream()
                            .filter(device::isUsable)
                            .toList(),
                    device.portAttributes().activeMtu().bytes(),
                    device.environment());
        }
    }

    /** Returns the selected GID if it is of the family, else those of the same type on the same network interface. */
    private List<GidEntry> gids(boolean family) {
        if (gid.gid().isIpv4Mapped() == family) {
            return List.of(gid);
        }
        return gids.stream()
                .filter(entry -> !entry.gid().isZero() && entry.gid().isIpv4Mapped() == family)
                .filter(entry -> entry.type() == gid.type() && entry.interfaceIndex() == gid.interfaceIndex())
                .toList();
    }

    /**
     * Returns a pair of GIDs of one family with which this node and another one can connect. Link-local GIDs are used
     * only if there are no others and the nodes are in one network, since routers do not forward them.
     *
     * @param other the other node
     * @param family true for IPv4, false for IPv6
     * @return this node's and the other's; empty if there are none that reach each other
     */
    public List<GidEntry> gidsWith(NodeFacts other, boolean family) {
        for (boolean linkLocal : isOnLinkWith(other) ? new boolean[] {false, true} : new boolean[] {false}) {
            List<GidEntry> pair = Stream.of(this, other)
                    .flatMap(node -> node.gids(family).stream()
                            .filter(entry -> isLinkLocal(entry) == linkLocal)
                            .limit(1))
                    .toList();
            if (pair.size() == 2) {
                return pair;
            }
        }
        return List.of();
    }

    /** Only for RoCE: InfiniBand's default subnet prefix is the same, but is not limited to a link. */
    private static boolean isLinkLocal(GidEntry entry) {
        return (entry.type() == GidType.ROCE_V1 || entry.type() == GidType.ROCE_V2)
                && entry.gid().toInetAddress().isLinkLocalAddress();
    }

    private boolean isOnLinkWith(NodeFacts other) {
        if (address.equals(other.address)) {
            return true;
        }
        byte[] own = address.getAddress();
        byte[] its = other.address.getAddress();
        if (prefixBits == 0 || own.length != its.length) {
            return false;
        }
        for (int bit = 0; bit < prefixBits; bit++) {
            int mask = 0x80 >> bit % 8;
            if (((own[bit / 8] ^ its[bit / 8]) & mask) != 0) {
                return false;
            }
        }
        return true;
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
