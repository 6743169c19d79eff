package io.rdmatest.verbs;

import io.rdmatest.RdmaException;
import io.rdmatest.ffi.ibv_device;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.internal.Errno;
import io.rdmatest.internal.Native;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;

/** An RDMA device of this host (ibv_get_device_list(3)). Holds no native object: it can be kept. */
public final class RdmaDevice {

    private static final Path SYSFS = Path.of("/sys/class/infiniband");

    private final String name;
    private final long nodeGuid;
    private final NodeType nodeType;
    private final Transport transport;

    private RdmaDevice(MemorySegment device) {
        this.name = Native.string(ibv_device.name(device), rdma_h.IBV_SYSFS_NAME_MAX());
        this.nodeGuid = Verbs.network(rdma_h.ibv_get_device_guid(device));
        this.nodeType = NodeType.of(ibv_device.node_type(device));
        this.transport = Transport.of(ibv_device.transport_type(device));
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
     * @throws RdmaException if there is none of this name; the message lists those that are there
     */
    public static RdmaDevice byName(String name) {
        List<RdmaDevice> devices = list();
        return devices.stream()
                .filter(device -> device.name.equals(name))
                .findFirst()
                .orElseThrow(() ->
                        missing(name, devices.stream().map(RdmaDevice::name).toList()));
    }

    private static RdmaException missing(String name, List<String> present) {
        return new RdmaException("no RDMA device named '" + name + "'; "
                + (present.isEmpty()
                        ? "this host has none ('rdma link show' lists them)"
                        : "this host has " + present.stream().collect(Collectors.joining(", "))));
    }

    private static <T> T withDevices(Function<List<MemorySegment>, T> use) {
        Native.requireLibraries();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(ValueLayout.JAVA_INT);
            MemorySegment list = (MemorySegment) Verbs.GET_DEVICE_LIST.invokeExact(Native.errnoState(), count);
            if (list.address() == 0) {
                // Without the kernel's ib_uverbs there are no devices, which is an answer and no failure.
                int errno = Native.errno();
                if (errno == 0
                        || Errno.name(errno).equals("ENOSYS")
                        || Errno.name(errno).equals("ENOENT")) {
                    return use.apply(List.of());
                }
                throw Native.failure("ibv_get_device_list", "");
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
     * Returns the kernel driver, for example {@code mlx5_core} or {@code rdma_rxe}; {@code "unknown"} if sysfs does not
     * tell.
     */
    public String driver() {
        Path link = SYSFS.resolve(name).resolve("device/driver");
        try {
            if (Files.exists(link)) {
                return link.toRealPath().getFileName().toString();
            }
        } catch (IOException e) {
            return "unknown";
        }
        // The software devices hang on no bus; soft-RoCE alone names the network interface that it runs on.
        if (Files.exists(SYSFS.resolve(name).resolve("parent"))) {
            return "rdma_rxe";
        }
        return nodeType == NodeType.RNIC ? "siw" : "unknown";
    }

    /** Returns the firmware's version; empty if the device has none. */
    public String firmware() {
        try {
            return Files.readString(SYSFS.resolve(name).resolve("fw_ver")).strip();
        } catch (IOException e) {
            return "";
        }
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
                    return DeviceContext.own(Verbs.create(Verbs.OPEN_DEVICE, "ibv_open_device", name, device), name);
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
