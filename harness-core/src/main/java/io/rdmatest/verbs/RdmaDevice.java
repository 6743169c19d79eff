package io.rdmatest.verbs;

import io.rdmatest.RdmaException;
import io.rdmatest.ffi.ibv_device;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.internal.Errno;
import io.rdmatest.internal.Native;
import io.rdmatest.internal.linux.NativeCalls;
import io.rdmatest.internal.linux.RdmaNetlink;
import io.rdmatest.internal.linux.RdmaNetlink.Attribute;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;

/** An RDMA device of this host (ibv_get_device_list(3)). It holds no native object, so it can be kept. */
public final class RdmaDevice {

    private static final Path SYSFS = Path.of("/sys/class/infiniband");
    private static final Path VERBS = Path.of("/sys/class/infiniband_verbs");

    private static final int CMD_GET = 1;
    private static final int CMD_STAT_GET = 17;
    private static final int DEVICE_INDEX = 1;
    private static final int DEVICE_NAME = 2;
    private static final int PORT_INDEX = 3;
    private static final int STAT_HWCOUNTERS = 80;
    private static final int STAT_NAME = 82;
    private static final int STAT_VALUE = 83;

    private final String name;
    private final long nodeGuid;
    private final NodeType nodeType;
    private final Transport transport;
    /** Whether libibverbs found the device in sysfs. */
    private final boolean ofKernel;

    private RdmaDevice(MemorySegment device) {
        this.name = Native.string(ibv_device.name(device), rdma_h.IBV_SYSFS_NAME_MAX());
        this.nodeGuid = Verbs.network(rdma_h.ibv_get_device_guid(device));
        this.nodeType = NodeType.of(ibv_device.node_type(device));
        this.transport = Transport.of(ibv_device.transport_type(device));
        this.ofKernel = !Native.string(ibv_device.ibdev_path(device), rdma_h.IBV_SYSFS_PATH_MAX())
                .isEmpty();
    }

    /**
     * Lists the devices that have a user-space provider.
     *
     * @return the devices in the library's order; empty if there are none
     * @throws io.rdmatest.NativeLibraryException if libibverbs is not installed
     */
    public static List<RdmaDevice> list() {
        return withDevices(devices -> devices.stream().map(RdmaDevice::new).toList());
    }

    /**
     * Finds a device.
     *
     * @param name its name, for example {@code mlx5_0} or {@code rxe0}
     * @return the device
     * @throws RdmaException if there is no device of this name; the message lists the devices of this host
     */
    public static RdmaDevice byName(String name) {
        List<RdmaDevice> devices = list();
        return devices.stream()
                .filter(device -> device.name.equals(name))
                .findFirst()
                .orElseThrow(() ->
                        missing(name, devices.stream().map(RdmaDevice::name).toList()));
    }

    /**
     * Names the devices that the kernel has but {@link #list} omits. libibverbs omits them without a message.
     *
     * @return why each can't be used and what to do, by the name of the device; empty if there is none
     */
    public static Map<String, String> unusable() {
        Map<String, String> reasons = new TreeMap<>();
        String[] names = SYSFS.toFile().list();
        if (names != null) {
            List<String> usable = list().stream().map(RdmaDevice::name).toList();
            for (String name : names) {
                if (!usable.contains(name)) {
                    reasons.put(name, reason(name));
                }
            }
        }
        return reasons;
    }

    private static String reason(String name) {
        return fileOf(name)
                .map(file -> Files.exists(file)
                        ? "libibverbs has no provider for its driver: install rdma-core's ibverbs-providers"
                        : "there is no file " + file + ": udev makes it, and a container gets it by --device " + file)
                .orElse("the kernel gives user space no access to it: modprobe ib_uverbs");
    }

    private static RdmaException missing(String name, List<String> present) {
        String reason = unusable().get(name);
        if (reason != null) {
            return new RdmaException("RDMA device '" + name + "' can't be used: " + reason);
        }
        return new RdmaException("no RDMA device named '" + name + "'; "
                + (present.isEmpty()
                        ? "this host has none ('rdma link show' lists them)"
                        : "this host has " + present.stream().collect(Collectors.joining(", "))));
    }

    /** Checks the permissions, because libibverbs reports ENOENT for a file that the user may not open. */
    private void requireAccess() {
        fileOf(name)
                .filter(file -> Files.exists(file) && !(Files.isReadable(file) && Files.isWritable(file)))
                .ifPresent(file -> {
                    throw new RdmaException("RDMA device '" + name + "' can't be used: this user may not open " + file
                            + " for reading and writing: run as root, or add the user to the file's group");
                });
    }

    private static Optional<Path> fileOf(String name) {
        String[] files = VERBS.toFile().list();
        for (String file : files == null ? new String[0] : files) {
            if (text(VERBS.resolve(file).resolve("ibdev")).filter(name::equals).isPresent()) {
                return Optional.of(Path.of("/dev/infiniband", file));
            }
        }
        return Optional.empty();
    }

    private static <T> T withDevices(Function<List<MemorySegment>, T> use) {
        NativeCalls.requireLibraries();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(ValueLayout.JAVA_INT);
            MemorySegment list = (MemorySegment) Verbs.GET_DEVICE_LIST.handle().invokeExact(Native.errnoState(), count);
            if (list.address() == 0) {
                // Without the kernel's ib_uverbs there are no devices. This is a result, not a failure.
                int errno = Native.errno();
                if (errno == 0
                        || Errno.name(errno).equals("ENOSYS")
                        || Errno.name(errno).equals("ENOENT")) {
                    return use.apply(List.of());
                }
                throw NativeCalls.failure("ibv_get_device_list", "");
            }
            try {
                List<MemorySegment> devices = new ArrayList<>();
                for (int i = 0; i < count.get(ValueLayout.JAVA_INT, 0); i++) {
                    devices.add(list.getAtIndex(rdma_h.C_POINTER, i).reinterpret(ibv_device.sizeof()));
                }
                return use.apply(devices);
            } finally {
                rdma_h.ibv_free_device_list(list);
            }
        } catch (Throwable e) {
            throw Native.unchecked("ibv_get_device_list", e);
        }
    }

    /** Returns the name, for example {@code mlx5_0}. */
    public String name() {
        return name;
    }

    /** Returns the node's GUID in host order. */
    public long nodeGuid() {
        return nodeGuid;
    }

    /** Returns what kind of node it is. */
    public NodeType nodeType() {
        return nodeType;
    }

    /** Returns the transport that it speaks. */
    public Transport transport() {
        return transport;
    }

    /**
     * Returns the kernel driver, for example {@code mlx5_core} or {@code rdma_rxe}; {@code "unknown"} if sysfs does not tell. It
     * is {@code "stand-in"} if libibverbs lists the device but the kernel does not have it. Then another library replaces
     * libibverbs, and what its device does is no evidence for a fabric.
     */
    public String driver() {
        if (!ofKernel) {
            return "stand-in";
        }
        Path link = SYSFS.resolve(name).resolve("device/driver");
        try {
            if (Files.exists(link)) {
                return link.toRealPath().getFileName().toString();
            }
        } catch (IOException e) {
            return "unknown";
        }
        // Software devices are on no bus. Of these only soft-RoCE names the network interface that it runs on.
        if (Files.exists(SYSFS.resolve(name).resolve("parent"))) {
            return DriverQuirks.SOFT_ROCE;
        }
        return nodeType == NodeType.RNIC ? DriverQuirks.SOFT_IWARP : "unknown";
    }

    /**
     * Names the network interfaces that a port belongs to. On RoCE they are those of the port's GIDs, on InfiniBand those of
     * IPoIB. On iWARP they are those whose hardware address is in the port's GID, VLANs included.
     *
     * @param port from 1
     * @param gids the port's GID table
     * @return their names in this order; empty if there is none
     */
    public List<String> networkInterfaces(int port, List<GidEntry> gids) {
        try {
            Set<String> names = new LinkedHashSet<>();
            for (GidEntry entry : gids) {
                // By name: in a container an index may be that of another interface.
                read("ports/" + port + "/gid_attrs/ndevs/" + entry.index()).ifPresent(names::add);
            }
            // Kernels before 6.5 do not tell an iWARP port's interface.
            if (names.isEmpty() && transport == Transport.IWARP) {
                for (NetworkInterface each : interfacesWithAddresses()) {
                    byte[] address = each.getHardwareAddress();
                    if (address != null
                            && gids.stream().anyMatch(entry -> entry.gid().isMadeOf(address))) {
                        names.add(each.getName());
                    }
                }
            }
            return List.copyOf(names.isEmpty() ? interfacesOfAdapter(port) : names);
        } catch (SocketException e) {
            throw new UncheckedIOException("the network interfaces of this host can't be listed", e);
        }
    }

    /** Java throws if no interface of a network namespace has an address, and only the message tells this from a failure. */
    private static List<NetworkInterface> interfacesWithAddresses() {
        try {
            return NetworkInterface.networkInterfaces()
                    .sorted(Comparator.comparingInt(NetworkInterface::getIndex))
                    .toList();
        } catch (SocketException e) {
            return List.of();
        }
    }

    /** Returns the interfaces that sysfs lists under the adapter. */
    private List<String> interfacesOfAdapter(int port) {
        List<String> names = new ArrayList<>();
        String[] entries = SYSFS.resolve(name).resolve("device/net").toFile().list();
        for (String entry : entries == null ? new String[0] : entries) {
            // dev_port counts from 0, verbs from 1.
            if (read("device/net/" + entry + "/dev_port")
                    .filter(Integer.toString(port - 1)::equals)
                    .isPresent()) {
                names.add(entry);
            }
        }
        names.sort(null);
        return names;
    }

    /** Reads an attribute of the device; empty if it does not exist or has no text. */
    private Optional<String> read(String attribute) {
        return text(SYSFS.resolve(name).resolve(attribute));
    }

    private static Optional<String> text(Path attribute) {
        try {
            return Optional.of(Files.readString(attribute).strip()).filter(text -> !text.isEmpty());
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** Returns the firmware's version; empty if the device has none. */
    public String firmware() {
        return read("fw_ver").orElse("");
    }

    /**
     * Reads the provider's counters of a port, and of the device if it has some (rdma-statistic(8)). They count what was sent,
     * received, retransmitted and refused. The provider chooses their names. The traffic of all processes on the device counts.
     * The method asks the kernel over netlink, which brings the counters up to date. sysfs may be some milliseconds behind.
     *
     * @param port from 1
     * @return the counters by name; empty if the device counts nothing
     */
    public SortedMap<String, Long> hardwareCounters(int port) {
        SortedMap<String, Long> counters = readCounters(SYSFS.resolve(name).resolve("hw_counters"));
        try (RdmaNetlink socket = RdmaNetlink.open()) {
            for (List<Attribute> device : socket.dump(CMD_GET)) {
                Map<Integer, Attribute> facts = RdmaNetlink.index(device);
                Attribute index = facts.get(DEVICE_INDEX);
                Attribute its = facts.get(DEVICE_NAME);
                if (index != null && its != null && its.text().equals(name)) {
                    for (Attribute table :
                            socket.get(CMD_STAT_GET, DEVICE_INDEX, (int) index.number(), PORT_INDEX, port)) {
                        if (table.type() == STAT_HWCOUNTERS) {
                            readCounters(table, counters);
                        }
                    }
                }
            }
        } catch (RdmaException e) {
            // An older kernel or driver does not answer: use the counters in sysfs.
            counters.putAll(
                    readCounters(SYSFS.resolve(name).resolve("ports/" + port).resolve("hw_counters")));
        }
        return counters;
    }

    private static void readCounters(Attribute table, Map<String, Long> counters) {
        for (Attribute entry : table.nested()) {
            Map<Integer, Attribute> facts = entry.byType();
            Attribute counter = facts.get(STAT_NAME);
            Attribute value = facts.get(STAT_VALUE);
            if (counter != null && value != null) {
                counters.put(counter.text(), value.number());
            }
        }
    }

    /**
     * Reads the counters of a port that all providers have (InfiniBand's PortCounters, IBTA volume 1, section 16.1), as far as
     * this provider counts them.
     *
     * @param port from 1
     * @return the counters by name; empty if there are none
     */
    public SortedMap<String, Long> portCounters(int port) {
        return readCounters(SYSFS.resolve(name).resolve("ports/" + port).resolve("counters"));
    }

    private static SortedMap<String, Long> readCounters(Path folder) {
        SortedMap<String, Long> counters = new TreeMap<>();
        String[] names = folder.toFile().list();
        if (names != null) {
            for (String counter : names) {
                try {
                    counters.put(
                            counter,
                            Long.parseLong(
                                    Files.readString(folder.resolve(counter)).strip()));
                } catch (IOException | NumberFormatException e) {
                    // Some can't be read on some firmware, and "lifespan" is a setting: the others still count.
                    continue;
                }
            }
        }
        counters.remove("lifespan");
        return counters;
    }

    /**
     * Opens the device (ibv_open_device(3)).
     *
     * @return its context; the caller closes it
     * @throws RdmaException if it is gone or may not be opened
     */
    public DeviceContext open() {
        return withDevices(devices -> {
            for (MemorySegment device : devices) {
                if (Native.string(ibv_device.name(device), rdma_h.IBV_SYSFS_NAME_MAX())
                        .equals(name)) {
                    requireAccess();
                    return DeviceContext.own(Verbs.create(Verbs.OPEN_DEVICE, name, device), name);
                }
            }
            throw missing(
                    name,
                    devices.stream()
                            .map(device -> Native.string(ibv_device.name(device), rdma_h.IBV_SYSFS_NAME_MAX()))
                            .toList());
        });
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof RdmaDevice device && device.name.equals(name) && device.nodeGuid == nodeGuid;
    }

    @Override
    public int hashCode() {
        return name.hashCode();
    }

    @Override
    public String toString() {
        return name;
    }
}
