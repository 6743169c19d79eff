package io.rdmatest.scenarios.cli;

import io.rdmatest.Cause;
import io.rdmatest.ExitStatus;
import io.rdmatest.RdmaException;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.scenarios.command.JsonCommand;
import io.rdmatest.scenarios.command.Outcome;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.verbs.DeviceAttributes;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.LinkLayer;
import io.rdmatest.verbs.PortAttributes;
import io.rdmatest.verbs.RdmaDevice;
import io.rdmatest.verbs.Transport;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Lists the RDMA devices of this host, as ibv_devinfo(1) does, and shows which of them the other commands use. */
@Command(
        name = "devices",
        sortOptions = false,
        description = {
            "Lists the RDMA devices with their ports and GIDs.",
            "Ends with 3 if no device has an active port."
        })
final class DevicesCommand extends JsonCommand {

    @Option(names = "--device", paramLabel = "<name>", description = "Show only this device (default: all).")
    private @Nullable String only;

    @Override
    protected void check() {}

    @Override
    protected Outcome execute() {
        List<RdmaDevice> devices = only == null ? RdmaDevice.list() : List.of(RdmaDevice.byName(only));
        Map<String, String> unusable = only == null ? RdmaDevice.unusable() : Map.of();
        if (devices.isEmpty() && unusable.isEmpty()) {
            throw new ScenarioException(
                    Cause.HOST_NOT_READY,
                    "this host has no RDMA device: load the driver of the adapter, or create a soft-RoCE device as root"
                            + " ('modprobe rdma_rxe', 'rdma link add rxe0 type rxe netdev eth0')");
        }
        List<String> lines = new ArrayList<>();
        List<Object> described = new ArrayList<>();
        Chosen chosen = choose();
        for (RdmaDevice device : devices) {
            described.add(describe(device, chosen, lines));
        }
        unusable.forEach((name, why) -> {
            lines.add(name + ": can't be used: " + why);
            described.add(Map.of("name", name, "error", why));
        });
        lines.add(chosen.text());
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("devices", described);
        chosen.device().ifPresent(device -> {
            Map<String, Object> used = new LinkedHashMap<>();
            used.put("device", device.device().name());
            used.put("port", device.port());
            used.put("gidIndex", device.gid().index());
            used.put("address", device.address().getHostAddress());
            fields.put("default", used);
        });
        return new Outcome(
                chosen.device().isPresent() ? ExitStatus.VERIFIED : ExitStatus.HOST_NOT_READY,
                chosen.text(),
                lines,
                fields);
    }

    /** What the other commands use by default, or why they find nothing. */
    private record Chosen(Optional<FabricDevice> device, String text) {

        boolean is(RdmaDevice other, GidEntry entry) {
            return device.filter(found -> found.device().equals(other)
                            && found.port() == entry.port()
                            && found.gid().index() == entry.index())
                    .isPresent();
        }
    }

    private Chosen choose() {
        try {
            Fabric fabric = Fabric.load();
            FabricDevice device =
                    (only == null ? fabric : fabric.withDevice(only)).local().resolve();
            return new Chosen(
                    Optional.of(device),
                    "The other commands use %s/%d, GID index %d, address %s unless told otherwise."
                            .formatted(
                                    device.device().name(),
                                    device.port(),
                                    device.gid().index(),
                                    device.address().getHostAddress()));
        } catch (FabricException e) {
            return new Chosen(Optional.empty(), e.getMessage());
        }
    }

    private static Map<String, Object> describe(RdmaDevice device, Chosen chosen, List<String> lines) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("name", device.name());
        fields.put("nodeType", device.nodeType().toString());
        fields.put("transport", device.transport().toString());
        fields.put("driver", device.driver());
        fields.put("firmware", device.firmware());
        fields.put("nodeGuid", guid(device.nodeGuid()));
        try (DeviceContext context = device.open()) {
            DeviceAttributes limits = context.attributes();
            fields.put("vendorId", "0x%06x".formatted(limits.vendorId()));
            fields.put("vendorPartId", limits.vendorPartId());
            fields.put("hardwareVersion", limits.hardwareVersion());
            fields.put("limits", limits(limits));
            List<PortAttributes> attributes = new ArrayList<>();
            for (int port = 1; port <= limits.physicalPorts(); port++) {
                attributes.add(context.port(port));
            }
            lines.add("%s: %s, %s, driver %s, firmware %s"
                    .formatted(
                            device.name(),
                            kind(device, attributes),
                            device.nodeType(),
                            device.driver(),
                            device.firmware().isEmpty() ? "unknown" : device.firmware()));
            lines.add("  node GUID %s, vendor 0x%06x, part %d, hardware version %d"
                    .formatted(
                            guid(device.nodeGuid()),
                            limits.vendorId(),
                            limits.vendorPartId(),
                            limits.hardwareVersion()));
            lines.addAll(limitLines(limits));
            List<Object> ports = new ArrayList<>();
            for (int port = 1; port <= attributes.size(); port++) {
                ports.add(describe(device, port, attributes.get(port - 1), context.gidTable(port), chosen, lines));
            }
            fields.put("ports", ports);
        } catch (RdmaException e) {
            lines.add(device.name() + ": " + e.getMessage());
            fields.put("error", e.getMessage());
        }
        return fields;
    }

    private static Map<String, Object> limits(DeviceAttributes limits) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("queuePairs", limits.maxQp());
        fields.put("workRequestsPerQueue", limits.maxQpWr());
        fields.put("sgePerWorkRequest", limits.maxSge());
        fields.put("readsAsTarget", limits.maxQpRdAtom());
        fields.put("readsAsInitiator", limits.maxQpInitRdAtom());
        fields.put("atomics", limits.atomicCapability().toString());
        fields.put("completionQueues", limits.maxCq());
        fields.put("completionQueueEntries", limits.maxCqe());
        fields.put("memoryRegions", limits.maxMr());
        fields.put("memoryRegionBytes", Long.toUnsignedString(limits.maxMrSize()));
        fields.put("protectionDomains", limits.maxPd());
        fields.put("addressHandles", limits.maxAh());
        fields.put("sharedReceiveQueues", limits.maxSrq());
        fields.put("sharedReceiveQueueWorkRequests", limits.maxSrqWr());
        fields.put("sharedReceiveQueueSge", limits.maxSrqSge());
        fields.put("multicastGroups", limits.maxMcastGroups());
        fields.put("queuePairsPerMulticastGroup", limits.maxMcastQpAttach());
        return fields;
    }

    private static List<String> limitLines(DeviceAttributes limits) {
        return List.of(
                "  limits: %d QP with %d WR of %d SGE per queue, %d/%d RDMA READ as target/initiator, atomics %s"
                        .formatted(
                                limits.maxQp(),
                                limits.maxQpWr(),
                                limits.maxSge(),
                                limits.maxQpRdAtom(),
                                limits.maxQpInitRdAtom(),
                                limits.atomicCapability()),
                "          %d CQ of %d entries, %d MR of %s, %d PD, %d AH"
                        .formatted(
                                limits.maxCq(),
                                limits.maxCqe(),
                                limits.maxMr(),
                                bytes(limits.maxMrSize()),
                                limits.maxPd(),
                                limits.maxAh()),
                "          %d SRQ of %d WR with %d SGE, %d multicast groups with %d QP each"
                        .formatted(
                                limits.maxSrq(),
                                limits.maxSrqWr(),
                                limits.maxSrqSge(),
                                limits.maxMcastGroups(),
                                limits.maxMcastQpAttach()));
    }

    private static Map<String, Object> describe(
            RdmaDevice device,
            int number,
            PortAttributes port,
            List<GidEntry> table,
            Chosen chosen,
            List<String> lines) {
        String netdev = String.join(", ", device.networkInterfaces(number, table));
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("port", number);
        fields.put("state", port.state().toString());
        fields.put("physicalState", physicalState(port.physicalState()));
        fields.put("linkLayer", port.linkLayer().toString());
        fields.put("rateGbps", port.rateGbps());
        fields.put("width", port.activeWidth());
        fields.put("laneGbps", laneGbps(port));
        fields.put("activeMtuBytes", port.activeMtu().bytes());
        fields.put("maxMtuBytes", port.maxMtu().bytes());
        fields.put("maxMessageBytes", port.maxMessageSize());
        fields.put("lid", port.lid());
        fields.put("smLid", port.smLid());
        fields.put("netdev", netdev);
        lines.add("  port %d: %s, %s, %s, %s, MTU %d of %d bytes, messages up to %s%s%s"
                .formatted(
                        number,
                        port.state(),
                        physicalState(port.physicalState()),
                        port.linkLayer(),
                        rate(port),
                        port.activeMtu().bytes(),
                        port.maxMtu().bytes(),
                        bytes(port.maxMessageSize()),
                        port.linkLayer() == LinkLayer.INFINIBAND
                                ? ", LID %d, SM LID %d".formatted(port.lid(), port.smLid())
                                : "",
                        netdev.isEmpty() ? "" : ", netdev " + netdev));
        List<GidEntry> valid =
                table.stream().filter(entry -> !entry.gid().isZero()).toList();
        int width = valid.stream()
                .mapToInt(entry -> entry.gid().toString().length())
                .max()
                .orElse(0);
        List<Object> gids = new ArrayList<>();
        for (GidEntry entry : valid) {
            String interfaceName = interfaceName(entry.interfaceIndex());
            Map<String, Object> gid = new LinkedHashMap<>();
            gid.put("index", entry.index());
            gid.put("gid", entry.gid().toString());
            gid.put("type", entry.type().toString());
            gid.put("netdev", interfaceName);
            gids.add(gid);
            lines.add(("    GID %3d  %-" + width + "s  %-7s  %s%s")
                    .formatted(
                            entry.index(),
                            entry.gid(),
                            entry.type(),
                            interfaceName,
                            chosen.is(device, entry) ? "  (default)" : "")
                    .stripTrailing());
        }
        fields.put("gids", gids);
        return fields;
    }

    /** RoCE and InfiniBand are one transport to verbs; the link layer of the ports tells them apart. */
    private static String kind(RdmaDevice device, List<PortAttributes> ports) {
        if (device.transport() != Transport.IB) {
            return device.transport() == Transport.IWARP ? "iWARP" : "transport " + device.transport();
        }
        return ports.stream()
                .map(port -> port.linkLayer() == LinkLayer.ETHERNET ? "RoCE" : "InfiniBand")
                .distinct()
                .collect(Collectors.joining(" and "));
    }

    private static String interfaceName(int index) {
        try {
            NetworkInterface network = index > 0 ? NetworkInterface.getByIndex(index) : null;
            return network == null ? "" : network.getName();
        } catch (SocketException e) {
            return "";
        }
    }

    /** The names that ibv_devinfo(1) gives to enum ib_port_phys_state (IBTA volume 1, section 14.2.5.6). */
    static String physicalState(int code) {
        return switch (code) {
            case 0 -> "NO_STATE_CHANGE";
            case 1 -> "SLEEP";
            case 2 -> "POLLING";
            case 3 -> "DISABLED";
            case 4 -> "PORT_CONFIGURATION_TRAINING";
            case 5 -> "LINK_UP";
            case 6 -> "LINK_ERROR_RECOVERY";
            case 7 -> "PHY_TEST";
            default -> "physical state " + code;
        };
    }

    private static double laneGbps(PortAttributes port) {
        return port.activeWidth() == 0 ? 0 : port.rateGbps() / port.activeWidth();
    }

    private static String rate(PortAttributes port) {
        return port.rateGbps() <= 0
                ? "rate unknown"
                : "%s Gb/s (%dX, %s Gb/s a lane)"
                        .formatted(number(port.rateGbps()), port.activeWidth(), number(laneGbps(port)));
    }

    private static String number(double value) {
        return BigDecimal.valueOf(value)
                .setScale(2, RoundingMode.HALF_UP)
                .stripTrailingZeros()
                .toPlainString();
    }

    static String guid(long guid) {
        return "%04x:%04x:%04x:%04x".formatted(guid >>> 48, guid >>> 32 & 0xffff, guid >>> 16 & 0xffff, guid & 0xffff);
    }

    /** Whole binary units; the largest value of 64 bits stands for no limit. */
    static String bytes(long bytes) {
        if (bytes < 0 || bytes == Long.MAX_VALUE) {
            return "any size";
        }
        String[] units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
        int unit = 0;
        long value = bytes;
        while (value >= 1024 && value % 1024 == 0 && unit < units.length - 1) {
            value /= 1024;
            unit++;
        }
        return value + " " + units[unit];
    }
}
