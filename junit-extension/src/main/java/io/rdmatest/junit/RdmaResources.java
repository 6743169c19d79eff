package io.rdmatest.junit;

import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.CompletionChannel;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.MemoryPlacement;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.SharedReceiveQueue;

/**
 * Hands out resources on one device, with the life of one scope. Ask for it as a parameter where a test decides while it
 * runs what it needs, or get it from an {@link RdmaExtension} field.
 *
 * <p>Each call makes a new object, except for the device, its context, the protection domain, the completion channel and the
 * event channel, of which a scope has one for each device: the same that parameters of these types get. Whoever asks
 * releases nothing: everything is released at the end of the scope, last first. Closing something earlier is allowed.
 *
 * <p>All methods throw {@link io.rdmatest.fabric.FabricException} if there is no such device, {@link
 * io.rdmatest.RdmaException} if it refuses, and {@link IllegalArgumentException} for a value that the device can't do.
 */
public interface RdmaResources {

    /**
     * Take resources from another device of this host.
     *
     * @param name what {@link OnDevice#value()} says; never null
     * @return resources of the same scope; never null
     */
    RdmaResources onDevice(String name);

    /**
     * Take resources from the device of a node of the fabric.
     *
     * @param name what {@link OnDevice#node()} says; never null
     * @return resources of the same scope; never null
     */
    RdmaResources onNode(String name);

    /**
     * Take resources from a device that was found before.
     *
     * @param found the device, with the port and the GID that connections use; never null
     * @return resources of the same scope; never null
     */
    RdmaResources on(FabricDevice found);

    /**
     * Let resources live as long as another scope, on its protection domain.
     *
     * @param scope the scope; {@link ResourceScope#METHOD} is the innermost one; never null
     * @return resources of the same device; never null
     */
    RdmaResources in(ResourceScope scope);

    /**
     * Get the device, port and GID.
     *
     * @return the device; never null
     */
    FabricDevice device();

    /**
     * Get the fabric that the test runs on, with its nodes, promises and thresholds.
     *
     * @return the fabric; never null
     */
    Fabric fabric();

    /**
     * Get the open device, the same for the whole run.
     *
     * @return the context; never null
     */
    DeviceContext context();

    /**
     * Get the protection domain of the scope.
     *
     * @return the protection domain; never null
     */
    ProtectionDomain protectionDomain();

    /**
     * Get the completion channel of the scope.
     *
     * @return the channel; never null
     */
    CompletionChannel completionChannel();

    /**
     * Create a completion queue.
     *
     * @param entries the least number of completions it holds, at least 1
     * @param events whether it is bound to {@link #completionChannel()}
     * @return the queue; never null
     */
    CompletionQueue completionQueue(int entries, boolean events);

    /**
     * Create a queue pair in the state RESET, with a send and a receive completion queue of its own.
     *
     * @param options what it is like; never null
     * @return the queue pair; never null
     */
    QueuePair queuePair(QueuePairOptions options);

    /**
     * Register memory on a page boundary.
     *
     * @param size bytes, at least 1
     * @param access the access flags; none for what {@link Registered#access()} says of none
     * @return the memory region; never null
     */
    MemoryRegion memory(long size, Access... access);

    /**
     * Register memory on a boundary or a NUMA node of choice.
     *
     * @param size bytes, at least 1
     * @param placement where it lies; never null
     * @param access the access flags; none for what {@link Registered#access()} says of none
     * @return the memory region; never null
     */
    MemoryRegion memory(long size, MemoryPlacement placement, Access... access);

    /**
     * Create a shared receive queue.
     *
     * @param maxWr the most outstanding receives, at least 1
     * @param maxSge the most segments of one receive, at least 1
     * @return the queue; never null
     */
    SharedReceiveQueue sharedReceiveQueue(int maxWr, int maxSge);

    /**
     * Get the event channel of the scope.
     *
     * @return the channel; never null
     */
    EventChannel eventChannel();

    /**
     * Create an rdma_cm id on {@link #eventChannel()}.
     *
     * @param portSpace its port space; never null
     * @return the id; never null
     */
    CmId id(PortSpace portSpace);

    /**
     * Open a connection as the test, its class or the builder describe it.
     *
     * @return the connection; never null
     */
    Connection connection();

    /**
     * Open a connection, on the protection domain of the scope unless the options name one.
     *
     * @param options what it is like; never null
     * @return the connection; never null
     */
    Connection connection(ConnectionOptions options);
}
