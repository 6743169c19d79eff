package io.rdmatest.scenarios.options;

import io.rdmatest.Cause;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.LinkLayer;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InterfaceAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.util.Collections;
import java.util.Optional;
import java.util.function.Supplier;

/** The IP addresses of the network interface under a device. */
public final class Addresses {

    private Addresses() {}

    /**
     * Returns an address of the device in the family of another address.
     *
     * @param device the device; if its GID index is selected, it has only the address of that GID
     * @param like an address of the required family
     * @throws ScenarioException if there is none
     */
    public static InetAddress ofFamily(FabricDevice device, InetAddress like) {
        boolean ipv4 = like instanceof Inet4Address;
        if (device.rail().gid().index().isPresent() && device.address() instanceof Inet4Address != ipv4) {
            throw new ScenarioException(
                    Cause.NO_ROUTE,
                    "GID %d of %s is %s, of another address family than %s: choose a GID of the same family, './rdmatest devices' lists them"
                            .formatted(
                                    device.gid().index(),
                                    device.device().name(),
                                    device.gid().gid(),
                                    like.getHostAddress()));
        }
        return find(device, ipv4)
                .orElseThrow(() -> new ScenarioException(
                        Cause.NO_ROUTE,
                        "The network interface of %s has no %s address, but %s is one: add an address to it, or choose another device"
                                .formatted(device.device().name(), ipv4 ? "IPv4" : "IPv6", like.getHostAddress())));
    }

    /**
     * Requires an address to belong to the device, if both are given.
     *
     * @throws ScenarioException if it is not
     */
    public static void requireOn(FabricDevice device, InetAddress address) {
        if (address.isAnyLocalAddress() || device.portAttributes().linkLayer() != LinkLayer.ETHERNET) {
            // GIDs are not IP addresses there.
            return;
        }
        try (DeviceContext context = device.open()) {
            Gid wanted = Gid.of(address);
            if (context.gidTable(device.port()).stream()
                    .noneMatch(entry -> entry.gid().equals(wanted))) {
                throw new ScenarioException(
                        Cause.NO_ROUTE,
                        "%s is not an address of %s/%d, but both were given: leave one of the two out, or give an address of the device,"
                                        .formatted(
                                                address.getHostAddress(),
                                                device.device().name(),
                                                device.port())
                                + " './rdmatest devices' lists them");
            }
        }
    }

    /**
     * Finds an address of the device.
     *
     * @param device the device
     * @param ipv4 true for IPv4, false for a global IPv6 address
     */
    public static Optional<InetAddress> find(FabricDevice device, boolean ipv4) {
        InetAddress own = device.address();
        if (own instanceof Inet4Address == ipv4) {
            return Optional.of(own);
        }
        try {
            NetworkInterface network = NetworkInterface.getByInetAddress(own);
            if (network == null) {
                return Optional.empty();
            }
            return Collections.list(network.getInetAddresses()).stream()
                    .filter(address -> address instanceof Inet4Address == ipv4)
                    .filter(address -> !address.isLinkLocalAddress())
                    .findFirst()
                    .map(Addresses::withoutScope);
        } catch (SocketException e) {
            throw new IllegalStateException("Can't list the addresses of " + own.getHostAddress(), e);
        }
    }

    /** Returns the length of the network prefix of an address of this host, in bits; 0 if unknown. */
    public static int prefixBits(InetAddress own) {
        try {
            NetworkInterface network = NetworkInterface.getByInetAddress(own);
            return network == null
                    ? 0
                    : network.getInterfaceAddresses().stream()
                            .filter(each -> Gid.of(each.getAddress()).equals(Gid.of(own)))
                            .mapToInt(InterfaceAddress::getNetworkPrefixLength)
                            .findFirst()
                            .orElse(0);
        } catch (SocketException e) {
            throw new IllegalStateException("Can't list the addresses of " + own.getHostAddress(), e);
        }
    }

    /**
     * Returns the address of another node for use on this one. A link-local address gets the interface of this node's
     * device as its scope.
     */
    public static InetAddress ofPeer(InetAddress peer, Supplier<FabricDevice> own) {
        if (!(peer instanceof Inet6Address) || !peer.isLinkLocalAddress()) {
            return peer;
        }
        InetAddress address = own.get().address();
        try {
            return address instanceof Inet6Address local && local.getScopeId() != 0
                    ? Inet6Address.getByAddress(null, peer.getAddress(), local.getScopeId())
                    : peer;
        } catch (UnknownHostException e) {
            throw new IllegalStateException(peer + " has an invalid length", e);
        }
    }

    /**
     * Java adds the interface to every IPv6 address that it lists; getaddrinfo(3) accepts it only for link-local ones.
     */
    private static InetAddress withoutScope(InetAddress address) {
        try {
            return InetAddress.getByAddress(address.getAddress());
        } catch (UnknownHostException e) {
            throw new IllegalStateException(address + " has an invalid length", e);
        }
    }
}
