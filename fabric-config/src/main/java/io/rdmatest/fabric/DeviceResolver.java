package io.rdmatest.fabric;

import io.rdmatest.RdmaException;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.GidType;
import io.rdmatest.verbs.LinkLayer;
import io.rdmatest.verbs.PortAttributes;
import io.rdmatest.verbs.PortState;
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
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Finds the device, port and GID of a node on this host. */
final class DeviceResolver {

    private static final Path SYSFS = Path.of("/sys/class/infiniband");
    private static final String UNKNOWN = "unknown";
    private static final String CURE = "load the driver of the adapter and bring its link up, make a soft-RoCE device"
            + " ('modprobe rdma_rxe', 'rdma link add rxe0 type rxe netdev eth0', as root), or run the tests on the drop-in"
            + " java (fabric-config/rdma-jdk/bin/java), which brings one";

    /** One port as it was seen, with its usable GIDs. */
    private record SeenPort(RdmaDevice device, int number, PortAttributes attributes, List<GidEntry> gids) {
        String name() {
            return device.name() + "/" + number;
        }

        @Override
        public String toString() {
            return name() + " " + attributes.state() + " (" + device.driver() + ")";
        }
    }

    private final Node node;
    private final String who;
    private final List<SeenPort> ports = new ArrayList<>();
    private final List<String> seen = new ArrayList<>();

    private DeviceResolver(Node node) {
        this.node = node;
        this.who = "node " + node.name() + " of fabric " + node.fabric();
    }

    static FabricDevice resolve(Node node) {
        if (!node.isLocal()) {
            throw new FabricException("node " + node.name() + " of fabric " + node.fabric()
                    + " is another host, reached by '" + String.join(" ", node.launch())
                    + "': roles are not started on launched nodes yet");
        }
        return new DeviceResolver(node).resolve();
    }

    private FabricDevice resolve() {
        look();
        String list = seen.isEmpty() ? "no RDMA device at all" : String.join(", ", seen);
        List<SeenPort> active = ports.stream()
                .filter(port -> port.attributes().state() == PortState.ACTIVE)
                .toList();
        if (node.device().equals(Node.AUTO)) {
            List<SeenPort> eligible = active.stream()
                    .filter(port -> node.port() == 0 || node.port() == port.number())
                    .toList();
            if (eligible.isEmpty()) {
                throw new FabricException("no active RDMA device on this host for " + who
                        + (node.port() == 0 ? "" : ", port " + node.port()) + "; seen: " + list + "; to do: " + CURE);
            }
            return firstWithGid(eligible);
        }
        List<SeenPort> named = ports.stream()
                .filter(port -> port.device().name().equals(node.device()))
                .toList();
        if (named.isEmpty()) {
            boolean present = seen.stream().anyMatch(text -> text.startsWith(node.device() + " ("));
            throw new FabricException("device '" + node.device() + "' of " + who
                    + (present ? " can't be used" : " is not on this host") + "; seen: " + list
                    + (seen.isEmpty() ? "; to do: " + CURE : "; allowed: auto or one of these names"));
        }
        List<SeenPort> chosen = named.stream()
                .filter(port -> node.port() == 0 || node.port() == port.number())
                .toList();
        if (chosen.isEmpty()) {
            throw new FabricException("device '" + node.device() + "' has no port " + node.port() + ", which " + who
                    + " asks for; allowed: 1 … " + named.size());
        }
        List<SeenPort> usable = chosen.stream().filter(active::contains).toList();
        if (usable.isEmpty()) {
            throw new FabricException("device '" + node.device() + "' of " + who + " has no active port; seen: " + list
                    + "; bring its link up (rdma link show, ip link set … up)");
        }
        return firstWithGid(usable);
    }

    private void look() {
        for (RdmaDevice device : RdmaDevice.list()) {
            try (DeviceContext context = device.open()) {
                int count = context.attributes().physicalPorts();
                for (int number = 1; number <= count; number++) {
                    List<GidEntry> gids = context.gidTable(number).stream()
                            .filter(entry -> !entry.gid().isZero())
                            .toList();
                    SeenPort port = new SeenPort(device, number, context.port(number), gids);
                    ports.add(port);
                    seen.add(port.toString());
                }
            } catch (RdmaException e) {
                seen.add(device.name() + " (" + device.driver() + ", " + e.getMessage() + ")");
            }
        }
    }

    private FabricDevice firstWithGid(List<SeenPort> eligible) {
        List<String> reasons = new ArrayList<>();
        for (SeenPort port : eligible) {
            Optional<GidEntry> gid = select(port);
            if (gid.isPresent()) {
                Optional<InetAddress> address = address(port, gid.get());
                if (address.isPresent()) {
                    return found(port, gid.get(), address.get());
                }
                reasons.add(port.name() + " has no network interface with an IP address; give the node an address");
            } else {
                reasons.add(port.name() + " has "
                        + (port.gids().isEmpty()
                                ? "none"
                                : port.gids().stream().map(DeviceResolver::text).collect(Collectors.joining(", "))));
            }
        }
        throw new FabricException("no GID for " + who + ", gid " + node.gid()
                + (node.address() == null ? "" : ", address " + node.address().getHostAddress()) + "; "
                + String.join("; ", reasons));
    }

    private static String text(GidEntry entry) {
        return "{index: " + entry.index() + ", type: " + entry.type() + ", " + entry.gid() + "}";
    }

    private Optional<GidEntry> select(SeenPort port) {
        GidSelector wanted = node.gid();
        return port.gids().stream()
                .filter(entry -> wanted.index().isEmpty() || wanted.index().getAsInt() == entry.index())
                .filter(entry -> wanted.type() == null
                        || wanted.type().name().equals(entry.type().name()))
                .filter(entry -> wanted.family() == null
                        || (wanted.family() == GidSelector.Family.IPV4)
                                == entry.gid().isIpv4Mapped())
                .filter(entry -> matchesAddress(port, entry))
                .min(Comparator.comparingInt((GidEntry entry) -> typeRank(entry.type()))
                        .thenComparingInt(entry -> familyRank(entry.gid()))
                        .thenComparingInt(GidEntry::index));
    }

    /** On Ethernet a GID is an address of the interface; on InfiniBand the IP address is that of IPoIB. */
    private boolean matchesAddress(SeenPort port, GidEntry entry) {
        InetAddress address = node.address();
        return address == null
                || port.attributes().linkLayer() == LinkLayer.INFINIBAND
                || entry.gid().equals(Gid.of(address));
    }

    private static int typeRank(GidType type) {
        return switch (type) {
            case ROCE_V2 -> 0;
            case ROCE_V1 -> 1;
            default -> 2;
        };
    }

    private static int familyRank(Gid gid) {
        return gid.isIpv4Mapped() ? 0 : gid.isLinkLocal() ? 2 : 1;
    }

    private Optional<InetAddress> address(SeenPort port, GidEntry gid) {
        if (node.address() != null) {
            return Optional.of(node.address());
        }
        if (port.attributes().linkLayer() == LinkLayer.INFINIBAND) {
            return ipoibAddress(port);
        }
        InetAddress address = gid.gid().toInetAddress();
        if (address instanceof Inet6Address six && six.isLinkLocalAddress() && gid.interfaceIndex() > 0) {
            try {
                return Optional.of(Inet6Address.getByAddress(null, six.getAddress(), gid.interfaceIndex()));
            } catch (UnknownHostException e) {
                throw new IllegalStateException(e);
            }
        }
        return Optional.of(address);
    }

    private static Optional<InetAddress> ipoibAddress(SeenPort port) {
        Path interfaces = SYSFS.resolve(port.device().name()).resolve("device/net");
        try (Stream<Path> entries = Files.list(interfaces)) {
            for (Path entry : entries.sorted().toList()) {
                // dev_port counts from 0, verbs from 1.
                if (!read(entry.resolve("dev_port"), "0").equals(Integer.toString(port.number() - 1))) {
                    continue;
                }
                NetworkInterface network =
                        NetworkInterface.getByName(entry.getFileName().toString());
                Optional<InetAddress> address = network == null
                        ? Optional.empty()
                        : network.inetAddresses().min(Comparator.comparingInt(found -> familyRank(Gid.of(found))));
                if (address.isPresent()) {
                    return address;
                }
            }
        } catch (SocketException e) {
            throw new UncheckedIOException(e);
        } catch (IOException e) {
            // No such folder: the port has no IPoIB interface.
            return Optional.empty();
        }
        return Optional.empty();
    }

    private FabricDevice found(SeenPort port, GidEntry gid, InetAddress address) {
        RdmaDevice device = port.device();
        Map<String, String> environment = new LinkedHashMap<>();
        environment.put("host", read(Path.of("/proc/sys/kernel/hostname"), UNKNOWN));
        environment.put("kernel", read(Path.of("/proc/sys/kernel/osrelease"), UNKNOWN));
        environment.put("rdma-core", rdmaCore());
        environment.put("device", device.name());
        environment.put("driver", device.driver());
        environment.put("firmware", device.firmware().isBlank() ? UNKNOWN : device.firmware());
        environment.put("port", Integer.toString(port.number()));
        environment.put("linkLayer", port.attributes().linkLayer().toString());
        environment.put("rate", rate(port.attributes().rateGbps()));
        environment.put("mtu", Integer.toString(port.attributes().activeMtu().bytes()));
        environment.put("gidIndex", Integer.toString(gid.index()));
        environment.put("gidValue", gid.gid().toString());
        environment.put("gidType", gid.type().toString());
        environment.put("netdev", netdev(port, gid));
        environment.put("address", address.getHostAddress());
        environment.put("fabric", node.fabric());
        environment.put("java", System.getProperty("java.runtime.version", UNKNOWN));
        return new FabricDevice(node, device, port.number(), port.attributes(), gid, address, environment);
    }

    private static String rate(double gbps) {
        return gbps <= 0 ? UNKNOWN : (gbps == Math.rint(gbps) ? Long.toString((long) gbps) : gbps) + " Gb/s";
    }

    private static String netdev(SeenPort port, GidEntry gid) {
        Path attribute = SYSFS.resolve(port.device().name())
                .resolve("ports")
                .resolve(Integer.toString(port.number()))
                .resolve("gid_attrs/ndevs")
                .resolve(Integer.toString(gid.index()));
        return read(attribute, UNKNOWN);
    }

    /**
     * Finds the release of rdma-core by the full name of the library that this process has loaded: its last two numbers,
     * as in librdmacm.so.1.3.44.0. rdma-core has no call that tells its release.
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

    private static String read(Path file, String otherwise) {
        try {
            String text = Files.readString(file).strip();
            return text.isEmpty() ? otherwise : text;
        } catch (IOException e) {
            return otherwise;
        }
    }
}
