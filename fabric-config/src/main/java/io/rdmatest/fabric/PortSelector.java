package io.rdmatest.fabric;

import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.GidType;
import io.rdmatest.verbs.LinkLayer;
import io.rdmatest.verbs.PortState;
import io.rdmatest.verbs.Transport;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;

/** Chooses the port and GID of a node among those of its host. The host may be this one or another one. */
final class PortSelector {

    /** The cure for a device without its driver. */
    static final String LOAD_DRIVER = "load the driver of the adapter and bring its link up";

    /** The cure for a host without a device. */
    static final String MAKE_DEVICE =
            "make a soft-RoCE device ('modprobe rdma_rxe', 'rdma link add rxe0 type rxe netdev" + " eth0', as root)";

    /** One port as it was seen, with its usable GIDs. */
    record Port(
            String device,
            String driver,
            Transport transport,
            int number,
            PortState state,
            LinkLayer linkLayer,
            List<GidEntry> gids) {

        /**
         * Returns whether the GIDs are IP addresses of the interface, as for RoCE. For InfiniBand and iWARP they are made of the
         * hardware's addresses.
         */
        boolean hasAddressesAsGids() {
            return linkLayer != LinkLayer.INFINIBAND && transport != Transport.IWARP;
        }

        String name() {
            return device + "/" + number;
        }

        @Override
        public String toString() {
            return name() + " " + state + " (" + driver + ")";
        }
    }

    /** The chosen port, GID and address. */
    record Choice(Port port, GidEntry gid, InetAddress address) {}

    /**
     * The devices and network interfaces of a host.
     *
     * @param where the name of the host in messages
     * @param cure what to do where it has no active device
     * @param ports its ports
     * @param seen its ports and the devices that can't be used, for the messages
     * @param interfaceAddress finds the IP address of a port by its network interface, if its GIDs are no IP addresses
     * @param presence tells whether a GID of RoCE is an address in the host's network namespace
     * @param interfaceIndex finds the index of the network interface that a scope names; 0 if the index is unknown; throws a
     *     {@link FabricException} if there is no such interface
     */
    record Host(
            String where,
            String cure,
            List<Port> ports,
            List<String> seen,
            Function<Port, Optional<InetAddress>> interfaceAddress,
            BiFunction<Port, GidEntry, Presence> presence,
            ToIntFunction<String> interfaceIndex) {}

    /** How a GID of RoCE relates to the network namespace that the device is used from. */
    enum Presence {
        /** The GID is an address of a network interface. */
        ADDRESS,
        /**
         * The GID is no address of an interface, but its network interface is in this namespace. For each port, the kernel makes
         * such a link-local GID from the interface's hardware address.
         */
        INTERFACE,
        /** The GID's network interface is in another namespace, so no process here can bind to it. */
        ELSEWHERE
    }

    private final Rail rail;
    private final Host host;
    private final String who;
    private final Map<Seen, Presence> presences = new HashMap<>();

    private record Seen(Port port, GidEntry entry) {}

    private PortSelector(NodePort on, Host host) {
        this.rail = on.rail();
        this.host = host;
        this.who = "node " + on.node().name() + " of fabric " + on.node().fabric();
    }

    /**
     * Chooses.
     *
     * @throws FabricException if nothing fits; the message names what was seen and what to do
     */
    static Choice select(NodePort on, Host host) {
        return new PortSelector(on, host).select();
    }

    private Choice select() {
        String list = host.seen().isEmpty() ? "no RDMA device at all" : String.join(", ", host.seen());
        List<Port> active = host.ports().stream()
                .filter(port -> port.state() == PortState.ACTIVE)
                .toList();
        if (rail.device().equals(Rail.AUTO)) {
            List<Port> eligible = active.stream()
                    .filter(port -> rail.port() == 0 || rail.port() == port.number())
                    .toList();
            if (eligible.isEmpty()) {
                throw new FabricException("no active RDMA device " + host.where() + " for " + who
                        + (rail.port() == 0 ? "" : ", port " + rail.port()) + "; seen: " + list + "; to do: "
                        + host.cure());
            }
            return best(eligible);
        }
        List<Port> named = host.ports().stream()
                .filter(port -> port.device().equals(rail.device()))
                .toList();
        if (named.isEmpty()) {
            boolean present = host.seen().stream().anyMatch(text -> text.startsWith(rail.device() + " ("));
            throw new FabricException("device '" + rail.device() + "' of " + who
                    + (present ? " can't be used" : " is not " + host.where()) + "; seen: " + list
                    + (host.seen().isEmpty() ? "; to do: " + host.cure() : "; allowed: auto or one of these names"));
        }
        List<Port> chosen = named.stream()
                .filter(port -> rail.port() == 0 || rail.port() == port.number())
                .toList();
        if (chosen.isEmpty()) {
            throw new FabricException("device '" + rail.device() + "' has no port " + rail.port() + ", which " + who
                    + " asks for; allowed: 1 … " + named.size());
        }
        List<Port> usable = chosen.stream().filter(active::contains).toList();
        if (usable.isEmpty()) {
            throw new FabricException("device '" + rail.device() + "' of " + who + " has no active port; seen: " + list
                    + "; bring its link up (rdma link show, ip link set … up)");
        }
        return best(usable);
    }

    /**
     * Returns the first port with an address that peers can reach. If there is none, returns the first port whose GID is at least
     * an address of its own interface, or else the first port.
     */
    private Choice best(List<Port> eligible) {
        List<Choice> choices = new ArrayList<>();
        List<String> reasons = new ArrayList<>();
        for (Port port : eligible) {
            Optional<GidEntry> gid = gid(port);
            if (gid.isPresent()) {
                Optional<InetAddress> address = address(port, gid.get());
                if (address.isPresent()) {
                    choices.add(new Choice(port, gid.get(), address.get()));
                } else {
                    reasons.add(port.name() + " has no network interface with an IP address; give the node an address");
                }
            } else {
                reasons.add(port.name() + " has "
                        + (port.gids().isEmpty()
                                ? "none"
                                : port.gids().stream()
                                        .map(entry -> text(port, entry))
                                        .collect(Collectors.joining(", "))));
            }
        }
        Optional<Choice> best = choices.stream().min(Comparator.comparingInt(this::reachRank));
        if (best.isPresent()) {
            return best.get();
        }
        throw new FabricException("no GID for " + who + ", gid " + rail.gid()
                + (rail.address() == null ? "" : ", address " + rail.addressText()) + "; "
                + String.join("; ", reasons));
    }

    private String text(Port port, GidEntry entry) {
        return "{index: " + entry.index() + ", type: " + entry.type() + ", " + entry.gid() + "}"
                + (presence(port, entry) == Presence.ELSEWHERE
                        ? ", whose network interface is not in this network namespace"
                        : "");
    }

    private Optional<GidEntry> gid(Port port) {
        GidSelector wanted = rail.gid();
        return port.gids().stream()
                .filter(entry -> wanted.index().isEmpty() || wanted.index().getAsInt() == entry.index())
                .filter(entry -> wanted.type() == null
                        || wanted.type().name().equals(entry.type().name()))
                .filter(entry -> wanted.family() == null
                        || (wanted.family() == GidSelector.Family.IPV4)
                                == entry.gid().isIpv4Mapped())
                .filter(entry -> matchesAddress(port, entry))
                .filter(entry -> presence(port, entry) != Presence.ELSEWHERE)
                .min(Comparator.comparing((GidEntry entry) -> presence(port, entry))
                        .thenComparing(entry -> port.hasAddressesAsGids() && isLinkLocal(entry.gid()))
                        .thenComparingInt(entry -> typeRank(entry.type()))
                        .thenComparingInt(entry -> familyRank(entry.gid()))
                        .thenComparingInt(GidEntry::index));
    }

    private boolean matchesAddress(Port port, GidEntry entry) {
        InetAddress address = rail.address();
        if (address == null || !port.hasAddressesAsGids()) {
            return true;
        }
        int scope = !rail.scope().isEmpty()
                ? host.interfaceIndex().applyAsInt(rail.scope())
                : address instanceof Inet6Address six && six.isLinkLocalAddress() ? six.getScopeId() : 0;
        return entry.gid().equals(Gid.of(address))
                && (scope == 0 || entry.interfaceIndex() == 0 || entry.interfaceIndex() == scope);
    }

    private int reachRank(Choice choice) {
        if (!choice.address().isLinkLocalAddress()) {
            return 0;
        }
        return presence(choice.port(), choice.gid()) == Presence.ADDRESS ? 1 : 2;
    }

    private Presence presence(Port port, GidEntry entry) {
        return port.hasAddressesAsGids()
                ? presences.computeIfAbsent(
                        new Seen(port, entry), seen -> host.presence().apply(port, entry))
                : Presence.ADDRESS;
    }

    private static int typeRank(GidType type) {
        return switch (type) {
            case ROCE_V2 -> 0;
            case ROCE_V1 -> 1;
            default -> 2;
        };
    }

    /** Ranks IPv4 before IPv6, and link-local addresses last: 169.254.0.0/16 (RFC 3927) and fe80::/10. */
    static int familyRank(Gid gid) {
        return (gid.isIpv4Mapped() ? 0 : 1) + (isLinkLocal(gid) ? 2 : 0);
    }

    private static boolean isLinkLocal(Gid gid) {
        return gid.toInetAddress().isLinkLocalAddress();
    }

    private Optional<InetAddress> address(Port port, GidEntry gid) {
        if (rail.address() != null) {
            return Optional.of(rail.address());
        }
        return port.hasAddressesAsGids()
                ? Optional.of(gid.gid().toInetAddress())
                : host.interfaceAddress().apply(port);
    }
}
