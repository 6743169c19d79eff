package io.rdmatest.fabric;

import io.rdmatest.RdmaException;
import io.rdmatest.ReportKeys;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.PortAttributes;
import io.rdmatest.verbs.RdmaDevice;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Finds the device, port and GID of a node on this host. */
final class DeviceResolver {

    private static final String UNKNOWN = "unknown";
    private static final String CURE = PortSelector.LOAD_DRIVER + ", " + PortSelector.MAKE_DEVICE
            + ", or run the tests on the drop-in java (fabric-config/rdma-jdk/bin/java), which brings one";

    /** A port of this host. */
    private record SeenPort(RdmaDevice device, PortAttributes attributes) {}

    private final NodePort on;
    private final Map<PortSelector.Port, SeenPort> ports = new LinkedHashMap<>();
    private final List<String> seen = new ArrayList<>();

    private DeviceResolver(NodePort on) {
        this.on = on;
    }

    static FabricDevice resolve(NodePort on) {
        Node node = on.node();
        if (!node.isLocal()) {
            throw new FabricException("node " + node.name() + " of fabric " + node.fabric()
                    + " is another host, reached by '" + String.join(" ", node.launch())
                    + "': only a process on that host can open its device");
        }
        return new DeviceResolver(on).resolve();
    }

    private FabricDevice resolve() {
        look();
        PortSelector.Choice choice = PortSelector.select(
                on,
                new PortSelector.Host(
                        "on this host",
                        CURE,
                        List.copyOf(ports.keySet()),
                        seen,
                        this::interfaceAddress,
                        (port, gid) ->
                                presence(Objects.requireNonNull(ports.get(port)).device(), gid),
                        this::interfaceIndex));
        SeenPort port = ports.get(choice.port());
        return found(port, choice.gid(), scoped(choice.address(), choice.gid()));
    }

    private void look() {
        for (RdmaDevice device : RdmaDevice.list()) {
            try (DeviceContext context = device.open()) {
                int count = context.attributes().physicalPorts();
                for (int number = 1; number <= count; number++) {
                    List<GidEntry> gids = context.gidTable(number).stream()
                            .filter(entry -> !entry.gid().isZero())
                            .toList();
                    PortAttributes attributes = context.port(number);
                    PortSelector.Port port = new PortSelector.Port(
                            device.name(),
                            device.driver(),
                            device.transport(),
                            number,
                            attributes.state(),
                            attributes.linkLayer(),
                            gids);
                    ports.put(port, new SeenPort(device, attributes));
                    seen.add(port.toString());
                }
            } catch (RdmaException e) {
                seen.add(device.name() + " (" + device.driver() + ", " + e.getMessage() + ")");
            }
        }
        RdmaDevice.unusable().forEach((name, why) -> seen.add(name + " (" + why + ")"));
    }

    /**
     * Finds out whether a GID belongs to this network namespace. A shared device's table has the GIDs of all
     * namespaces. Interface indexes and names may be the same in several namespaces, so only the addresses decide.
     */
    static PortSelector.Presence presence(RdmaDevice device, GidEntry gid) {
        try {
            if (withAddresses()
                    .filter(network -> !gid.gid().isLinkLocal() || network.getIndex() == gid.interfaceIndex())
                    .flatMap(NetworkInterface::inetAddresses)
                    .anyMatch(found -> Gid.of(found).equals(gid.gid()))) {
                return PortSelector.Presence.ADDRESS;
            }
            return gid.gid().isLinkLocal() && isMadeOfInterface(device, gid)
                    ? PortSelector.Presence.INTERFACE
                    : PortSelector.Presence.ELSEWHERE;
        } catch (SocketException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Returns the network interfaces with an address. If a namespace has none, Java throws an exception, which only its
     * text identifies.
     */
    private static Stream<NetworkInterface> withAddresses() {
        try {
            return NetworkInterface.networkInterfaces();
        } catch (SocketException e) {
            return Stream.empty();
        }
    }

    /** Returns whether this namespace has the interface of a GID; Java lists only interfaces with an address. */
    private static boolean isMadeOfInterface(RdmaDevice device, GidEntry gid) throws SocketException {
        for (String name : device.networkInterfaces(gid.port(), List.of(gid))) {
            NetworkInterface network = NetworkInterface.getByName(name);
            byte[] hardware = network == null ? null : network.getHardwareAddress();
            if (hardware != null
                    ? Gid.ofHardware(hardware).equals(gid.gid())
                    : interfaces().contains(name)) {
                return true;
            }
        }
        return false;
    }

    /** Returns the names of the network interfaces in this namespace, up or down (proc(5)). */
    private static List<String> interfaces() {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/net/dev"))) {
            // Two lines of headings come first. A name has no colon, except aliases, which are not listed.
            return lines.skip(2)
                    .map(line -> line.substring(0, line.indexOf(':')).strip())
                    .toList();
        } catch (IOException | UncheckedIOException e) {
            return List.of();
        }
    }

    private int interfaceIndex(String scope) {
        try {
            NetworkInterface network = scope.matches("\\d{1,9}")
                    ? NetworkInterface.getByIndex(Integer.parseInt(scope))
                    : NetworkInterface.getByName(scope);
            if (network == null) {
                throw new FabricException("the address " + on.rail().addressText() + " of node "
                        + on.node().name()
                        + " of fabric " + on.node().fabric() + " names the network interface " + scope
                        + ", which this host does not have; seen: "
                        + String.join(", ", interfaces()));
            }
            return network.getIndex();
        } catch (SocketException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Adds the interface to a link-local address, which is ambiguous without it. */
    private InetAddress scoped(InetAddress address, GidEntry gid) {
        if (!(address instanceof Inet6Address six) || !six.isLinkLocalAddress() || six.getScopeId() != 0) {
            return address;
        }
        int index = on.rail().scope().isEmpty()
                ? gid.interfaceIndex()
                : interfaceIndex(on.rail().scope());
        try {
            return index > 0 ? Inet6Address.getByAddress(null, six.getAddress(), index) : address;
        } catch (UnknownHostException e) {
            throw new IllegalStateException(e);
        }
    }

    private Optional<InetAddress> interfaceAddress(PortSelector.Port port) {
        try {
            for (String name :
                    Objects.requireNonNull(ports.get(port)).device().networkInterfaces(port.number(), port.gids())) {
                NetworkInterface network = NetworkInterface.getByName(name);
                Optional<InetAddress> address = network == null
                        ? Optional.empty()
                        : network.inetAddresses()
                                .min(Comparator.comparingInt(found -> PortSelector.familyRank(Gid.of(found))));
                if (address.isPresent()) {
                    return address;
                }
            }
        } catch (SocketException e) {
            throw new UncheckedIOException(e);
        }
        return Optional.empty();
    }

    private FabricDevice found(SeenPort port, GidEntry gid, InetAddress address) {
        RdmaDevice device = port.device();
        Map<String, String> environment = new LinkedHashMap<>();
        environment.put("host", hostName());
        Fabric.machine().ifPresent(machine -> environment.put(ReportKeys.MACHINE, machine));
        environment.put("kernel", read(Path.of("/proc/sys/kernel/osrelease"), UNKNOWN));
        environment.put("rdma-core", rdmaCore());
        environment.put("device", device.name());
        environment.put("driver", device.driver());
        environment.put("firmware", device.firmware().isBlank() ? UNKNOWN : device.firmware());
        environment.put("port", Integer.toString(gid.port()));
        environment.put("linkLayer", port.attributes().linkLayer().toString());
        environment.put("rate", rate(port.attributes().rateGbps()));
        environment.put("mtu", Integer.toString(port.attributes().activeMtu().bytes()));
        environment.put("gidIndex", Integer.toString(gid.index()));
        environment.put("gidValue", gid.gid().toString());
        environment.put("gidType", gid.type().toString());
        List<String> interfaces = device.networkInterfaces(gid.port(), List.of(gid));
        environment.put("netdev", interfaces.isEmpty() ? UNKNOWN : String.join(", ", interfaces));
        environment.put("address", address.getHostAddress());
        environment.put("fabric", on.node().fabric());
        if (!on.rail().name().isEmpty()) {
            environment.put("rail", on.rail().name());
        }
        environment.put("java", System.getProperty("java.runtime.version", UNKNOWN));
        return new FabricDevice(on, device, gid.port(), port.attributes(), gid, address, environment);
    }

    private static String rate(double gbps) {
        return gbps <= 0 ? UNKNOWN : (gbps == Math.rint(gbps) ? Long.toString((long) gbps) : gbps) + " Gb/s";
    }

    /**
     * Finds the release of rdma-core, which has no call for it: the last two numbers of the loaded library's full name,
     * as in librdmacm.so.1.3.44.0.
     */
    private static String rdmaCore() {
        Pattern library = Pattern.compile("librdmacm\\.so\\.\\d+\\.\\d+\\.(\\d+\\.\\d+)");
        try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
            return maps.map(library::matcher)
                    .filter(Matcher::find)
                    .map(matcher -> matcher.group(1))
                    .findFirst()
                    .orElse(UNKNOWN);
        } catch (IOException | UncheckedIOException e) {
            return UNKNOWN;
        }
    }

    /** Returns the name of this host, as uname(2) has it. */
    static String hostName() {
        return read(Path.of("/proc/sys/kernel/hostname"), UNKNOWN);
    }

    private static String read(Path file, String otherwise) {
        try {
            String text = Files.readString(file).strip();
            return text.isEmpty() ? otherwise : text;
        } catch (IOException e) {
            return otherwise;
        }
    }
}
