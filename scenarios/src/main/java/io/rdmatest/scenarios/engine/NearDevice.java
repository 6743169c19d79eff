package io.rdmatest.scenarios.engine;

import io.rdmatest.NumberList;
import io.rdmatest.RdmaException;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.MemoryPlacement;
import io.rdmatest.verbs.MemoryRegion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the calling thread and the memory of a measurement on the NUMA node of a device, until it is closed by the same thread:
 * data then does not cross from one NUMA node to another on its way to the device. If the device has no NUMA node, or the kernel
 * does not let the thread move there, thread and memory stay where they are.
 */
public final class NearDevice implements AutoCloseable {

    private static final Path DEVICES = Path.of("/sys/class/infiniband");

    private final OptionalInt node;
    private final @Nullable ProcessorBinding binding;

    private NearDevice(OptionalInt node, @Nullable ProcessorBinding binding) {
        this.node = node;
        this.binding = binding;
    }

    /**
     * Moves the calling thread near a device.
     *
     * @param device the RDMA device's name
     * @return the object that moves the thread back when it is closed
     */
    public static NearDevice begin(String device) {
        return begin(DEVICES, device);
    }

    /**
     * Moves the calling thread near a device.
     *
     * @param devices the folder that has one for each device: {@code device/numa_node} and {@code device/local_cpulist} in it say
     *     which node it is on, and which processors are there
     */
    static NearDevice begin(Path devices, String device) {
        Path attributes = devices.resolve(device).resolve("device");
        try {
            int node = Integer.parseInt(read(attributes.resolve("numa_node")));
            if (node < 0) {
                return new NearDevice(OptionalInt.empty(), null);
            }
            BitSet processors = NumberList.parse(read(attributes.resolve("local_cpulist")));
            processors.and(ProcessorBinding.allowed());
            return new NearDevice(OptionalInt.of(node), processors.isEmpty() ? null : ProcessorBinding.to(processors));
        } catch (IOException | IllegalArgumentException | IllegalStateException e) {
            // A software device has no NUMA node, and a container may forbid the move.
            return new NearDevice(OptionalInt.empty(), null);
        }
    }

    private static String read(Path file) throws IOException {
        return Files.readString(file).strip();
    }

    /** Returns the NUMA node of the device; empty if it has none, or the thread could not be moved there. */
    public OptionalInt node() {
        return node;
    }

    /**
     * Registers memory near the device, or where the kernel puts it if that is refused.
     *
     * @param link what it is for; the memory is deregistered when the link closes
     * @param size bytes, from 1
     * @param access what may be done to it
     * @return the memory region
     * @throws RdmaException if the device or the limit of locked memory refuses it
     */
    public MemoryRegion register(RcLink link, long size, Access... access) {
        if (node.isPresent()) {
            try {
                return link.register(size, MemoryPlacement.ANYWHERE.onNumaNode(node.getAsInt()), access);
            } catch (RdmaException e) {
                // The NUMA node has no memory, or a cpuset forbids it. Any other failure occurs again here.
                return link.register(size, access);
            }
        }
        return link.register(size, access);
    }

    @Override
    public void close() {
        if (binding != null) {
            binding.close();
        }
    }
}
