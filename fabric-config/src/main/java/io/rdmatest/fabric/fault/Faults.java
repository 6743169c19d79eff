package io.rdmatest.fabric.fault;

import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.fabric.Node;
import java.net.InetAddress;
import java.time.Duration;
import java.time.temporal.ChronoUnit;

/**
 * Breaks things on the nodes of a fabric on purpose: on this host directly, on another node through its launch command.
 *
 * <p>Nothing stays broken: what holds a fault is a shell on the node that makes everything good again when the fault is closed,
 * when the process that asked for it is gone, and in any case after a time that is given. What is broken is the network
 * interface below the node's RDMA device, which is found by the device; what changes it, tc(8), ip(8) and rdma(8), has to be
 * there, and the node's user has to be root.
 *
 * <p>The device of a node that is this host is the one that {@link Node#resolve()} finds. On another host, a device or port that
 * the node leaves open is the only active one: where there are several, all faults are refused. A test on another device than
 * the fabric's file names breaks its own by {@link Node#onPort}, and one on a rail by {@link Node#onRail}.
 */
public final class Faults {

    /**
     * The environment variable that marks all processes of a run, so that whoever began the run ends those that are left. The
     * shell of a fault on this host does not have it: it ends by itself, once it has made good what it broke.
     */
    public static final String RUN_MARK = "RDMATEST_RUN";

    /** How long a fault can last. */
    public static final Duration MOST = Duration.ofHours(1);

    private final Fabric fabric;

    private Faults(Fabric fabric) {
        this.fabric = fabric;
    }

    /**
     * Begins.
     *
     * @param fabric the fabric
     * @return what breaks its nodes
     * @throws FabricException if the fabric does not allow it
     */
    public static Faults on(Fabric fabric) {
        if (!fabric.faultsAllowed()) {
            throw new FabricException(refusal(fabric));
        }
        return new Faults(fabric);
    }

    /**
     * Says why nothing can be broken on a fabric that does not allow it.
     *
     * @param fabric the fabric
     * @return one sentence with the cause and the cure
     */
    public static String refusal(Fabric fabric) {
        return "fabric " + fabric + " does not allow faults; if nobody else uses it, add to its file: faults: allowed";
    }

    /**
     * Lets the network do something to the packets of RDMA that a node sends: to those of RoCE only, on soft-RoCE. Other
     * traffic of the interface, such as that to the node's shell, stays as it is.
     *
     * @param node where; a node of the fabric
     * @param fault what
     * @param most after which time it ends by itself, 1 second … 1 hour, of which whole seconds count; closing it later fails
     * @return the fault, which works now
     * @throws FabricException if it could not be done; says why
     * @throws IllegalArgumentException if the fault does nothing, or the node is not of this fabric
     */
    public ActiveFault network(Node node, NetworkFault fault, Duration most) {
        if (!fault.isAny()) {
            throw new IllegalArgumentException("A network fault that does nothing can't be told from none");
        }
        ActiveFault active = start(node, "network", fault.netem(), most);
        try {
            active.awaitApplied();
            return active;
        } catch (RuntimeException | Error e) {
            active.abandon();
            throw e;
        }
    }

    /**
     * Takes the link of a node's device down, as {@code ip link set down} does, and up again when the fault ends: addresses and
     * routes are then what they were.
     *
     * <p>If the way to the node leads over the same interface, it can't be asked to end sooner: it does so after its time, and
     * the way has to bear that.
     *
     * @param node where; a node of the fabric
     * @param most how long it is down unless the fault is closed sooner, 1 second … 1 hour, of which whole seconds count
     * @return the fault; the node was told to begin, see {@link ActiveFault#awaitApplied()}
     * @throws FabricException if it could not be done; says why
     * @throws IllegalArgumentException if the node is not of this fabric
     */
    public ActiveFault linkDown(Node node, Duration most) {
        return start(node, "link", "", most);
    }

    /**
     * Removes a node's soft-RoCE device, as {@code rdma link delete} does, and makes it again when the fault ends.
     *
     * <p>The kernel tells the programs that have it open, and waits until the last of them has closed it; librdmacm may keep it
     * open until its process ends. From then on, and not from this call, it is gone. So a role's agent has to end, and a fault
     * of this host's own device can wait for this process for ever.
     *
     * @param node where; a node of the fabric
     * @param most for how long unless the fault is closed sooner, 1 second … 1 hour, of which whole seconds count
     * @return the fault; the node was told to begin, see {@link ActiveFault#awaitApplied()}
     * @throws FabricException if it could not be done; says why
     * @throws IllegalArgumentException if the node is not of this fabric
     */
    public ActiveFault removeDevice(Node node, Duration most) {
        return start(node, "removal", "", most);
    }

    /**
     * Removes an address of the interface of a node's device, as {@code ip address delete} does, and gives it back when the
     * fault ends: addresses and routes are then what they were, but maybe in another order.
     *
     * <p>The GIDs of the address go with it: what is connected over them can't send any more, and new connections from and to
     * the address fail. If it is the way to the node, the same holds as for {@link #linkDown}.
     *
     * @param node where; a node of the fabric
     * @param address an address of that interface that has no end of its own
     * @param most for how long unless the fault is closed sooner, 1 second … 1 hour, of which whole seconds count
     * @return the fault; the node was told to begin, see {@link ActiveFault#awaitApplied()}
     * @throws FabricException if it could not be done; says why
     * @throws IllegalArgumentException if the node is not of this fabric
     */
    public ActiveFault addressRemoved(Node node, InetAddress address, Duration most) {
        // Without the name of an interface of this host, which follows a link-local address.
        return start(node, "address", address.getHostAddress().replaceFirst("%.*", ""), most);
    }

    private ActiveFault start(Node node, String kind, String with, Duration most) {
        if (fabric.nodes().stream().noneMatch(each -> each.name().equals(node.name()))) {
            throw new IllegalArgumentException("Node " + node.name() + " is not one of fabric " + fabric);
        }
        if (most.toSeconds() < 1 || most.compareTo(MOST) > 0) {
            throw new IllegalArgumentException("A fault lasts at most " + most + ": allowed are 1 second to 1 hour");
        }
        return ActiveFault.start(located(node), kind, with, most.truncatedTo(ChronoUnit.SECONDS));
    }

    /** The shell would take the first device by its name, and what the tests run on is chosen by its GIDs, too. */
    private static Node located(Node node) {
        if (!node.isLocal() || !node.device().equals(Node.AUTO) && node.port() != 0) {
            return node;
        }
        FabricDevice found = node.resolve();
        return node.onPort(found.device().name(), found.port());
    }
}
