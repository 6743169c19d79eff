package io.rdmatest.fabric.fault;

import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.fabric.NodePort;
import io.rdmatest.fabric.Rail;
import java.net.InetAddress;
import java.time.Duration;
import java.time.temporal.ChronoUnit;

/**
 * Injects faults on the nodes of a fabric: on this host directly, on another node through its launch command.
 *
 * <p>No fault is permanent. A shell on the node repairs it when the fault is closed, when this process ends, and in any
 * case after a given time. Faults affect the network interface below the node's RDMA device. The node needs tc(8),
 * ip(8) and rdma(8), and its user must be root.
 *
 * <p>On this host the device is that of {@link NodePort#resolve()}. On another host an unspecified device or port means
 * the only active one; if there are several, faults are rejected. For another device than the file's use {@link
 * NodePort#onPort}, for a rail {@link io.rdmatest.fabric.Node#onRail}.
 */
public final class Faults {

    /**
     * The environment variable that marks all processes of a run, so that its starter can end the remaining ones. The
     * shell of a fault on this host does not have it: it ends by itself after the repair.
     */
    public static final String RUN_MARK = "RDMATEST_RUN";

    /** The longest duration of a fault. */
    public static final Duration MOST = Duration.ofHours(1);

    private final Fabric fabric;

    private Faults(Fabric fabric) {
        this.fabric = fabric;
    }

    /**
     * Creates the faults of a fabric.
     *
     * @param fabric the fabric
     * @return the faults
     * @throws FabricException if the fabric does not allow faults
     */
    public static Faults on(Fabric fabric) {
        if (!fabric.faultsAllowed()) {
            throw new FabricException(refusal(fabric));
        }
        return new Faults(fabric);
    }

    /**
     * Explains that a fabric does not allow faults.
     *
     * @param fabric the fabric
     * @return one sentence with the cause and the cure
     */
    public static String refusal(Fabric fabric) {
        return "fabric " + fabric + " does not allow faults; if nobody else uses it, add to its file: faults: allowed";
    }

    /**
     * Applies a network fault to the RoCE packets that a node sends with soft-RoCE. Other traffic of the interface,
     * such as that of the node's shell, is not affected.
     *
     * @param on a port of a node of the fabric
     * @param fault the fault
     * @param most the time after which it ends by itself, 1 second … 1 hour, in whole seconds; closing it later fails
     * @return the applied fault
     * @throws FabricException if the fault could not be applied; the message says why
     * @throws IllegalArgumentException if the fault has no effect, or the node does not belong to this fabric
     */
    public ActiveFault network(NodePort on, NetworkFault fault, Duration most) {
        if (!fault.isAny()) {
            throw new IllegalArgumentException(
                    "The network fault has no effect: set at least one of its values" + " above 0");
        }
        ActiveFault active = start(on, "network", fault.netem(), most);
        try {
            active.awaitApplied();
            return active;
        } catch (RuntimeException | Error e) {
            active.abandon();
            throw e;
        }
    }

    /**
     * Takes the link of a node's device down, as {@code ip link set down} does, and up again when the fault ends:
     * addresses and routes are then restored. Soft-RoCE reports {@code IBV_EVENT_PORT_ERR} at once, and with Linux 7.3 flushes
     * what was posted. Other devices and older kernels let requests fail when their retries are exhausted.
     *
     * <p>If the connection to the node uses the same interface, the fault can't be ended early. It ends after its time,
     * and the connection must survive until then.
     *
     * @param on a port of a node of the fabric
     * @param most the longest time, 1 second … 1 hour, in whole seconds; closing the fault ends it earlier
     * @return the starting fault, see {@link ActiveFault#awaitApplied()}
     * @throws FabricException if the fault could not be applied; the message says why
     * @throws IllegalArgumentException if the node does not belong to this fabric
     */
    public ActiveFault linkDown(NodePort on, Duration most) {
        return start(on, "link", "", most);
    }

    /**
     * Removes a node's soft-RoCE device, as {@code rdma link delete} does, and creates it again when the fault ends.
     *
     * <p>The kernel notifies the programs that have the device open, and removes it when the last one has closed it.
     * librdmacm may keep it open until its process ends. So a role's agent has to end first. A fault of this host's own
     * device may wait forever for this process. Such a program gets {@code IBV_EVENT_DEVICE_FATAL}. Posts to its queue pairs may
     * fail with {@code EIO} from then on.
     *
     * @param on a port of a node of the fabric
     * @param most the longest time, 1 second … 1 hour, in whole seconds; closing the fault ends it earlier
     * @return the starting fault, see {@link ActiveFault#awaitApplied()}
     * @throws FabricException if the fault could not be applied; the message says why
     * @throws IllegalArgumentException if the node does not belong to this fabric
     */
    public ActiveFault removeDevice(NodePort on, Duration most) {
        return start(on, "removal", "", most);
    }

    /**
     * Removes an address of the interface of a node's device, as {@code ip address delete} does, and adds it again when
     * the fault ends. Addresses and routes are then restored, possibly in another order.
     *
     * <p>This also removes the GIDs of the address. Connections that use these GIDs can't send any more, and new
     * connections from and to the address fail. A connection may outlive its address: on soft-RoCE up to 4 s were seen with
     * Linux 7.3, and none with 6.1. If the connection to the node uses the address, see {@link #linkDown}.
     *
     * @param on a port of a node of the fabric
     * @param address an address of that interface without a limited lifetime
     * @param most the longest time, 1 second … 1 hour, in whole seconds; closing the fault ends it earlier
     * @return the starting fault, see {@link ActiveFault#awaitApplied()}
     * @throws FabricException if the fault could not be applied; the message says why
     * @throws IllegalArgumentException if the node does not belong to this fabric
     */
    public ActiveFault addressRemoved(NodePort on, InetAddress address, Duration most) {
        // The scope of a link-local address is dropped, because it names an interface of this host.
        return start(on, "address", address.getHostAddress().replaceFirst("%.*", ""), most);
    }

    private ActiveFault start(NodePort on, String kind, String with, Duration most) {
        if (fabric.nodes().stream()
                .noneMatch(each -> each.name().equals(on.node().name()))) {
            throw new IllegalArgumentException("Node " + on.node().name() + " is not one of fabric " + fabric);
        }
        if (most.toSeconds() < 1 || most.compareTo(MOST) > 0) {
            throw new IllegalArgumentException(
                    "The duration of a fault is " + most + ": allowed are 1 second to 1 hour");
        }
        return ActiveFault.start(located(on), kind, with, most.truncatedTo(ChronoUnit.SECONDS));
    }

    /** Resolves the device: the shell would take the first one by name, but tests choose it by its GIDs, too. */
    private static NodePort located(NodePort on) {
        if (!on.node().isLocal()
                || !on.rail().device().equals(Rail.AUTO) && on.rail().port() != 0) {
            return on;
        }
        FabricDevice found = on.resolve();
        return on.onPort(found.device().name(), found.port());
    }
}
