package io.rdmatest.scenarios.engine;

import io.rdmatest.cm.AddressInfo.Format;
import io.rdmatest.cm.CmId;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.scenarios.engine.ScenarioException.Reason;
import io.rdmatest.verbs.AddressHandleAttributes;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.LinkLayer;
import io.rdmatest.verbs.QueuePair;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import org.jspecify.annotations.Nullable;

/**
 * Keeps connections of rdma_cm on the device under test. Without a source address the routes of the kernel choose the device:
 * of several in one subnet always the same, so that another one may be dead and pass.
 *
 * <p>A role binds to {@link #source} before it connects, and {@linkplain #require(RoleContext, CmId) looks} at which device the
 * connection really got. Both do nothing where the role {@linkplain RoleContext#staysOnDevice() may} use any device.
 */
public final class DeviceBinding {

    private DeviceBinding() {}

    /**
     * Returns the address to bind a client to.
     *
     * @param target the address that it connects to
     * @param given the address that an option names; null if none does
     * @return the option's, or that of the device in the target's family; null where the routes decide: the role may use any
     *     device, the target is an address of the loopback interface, or the device has none of that family
     */
    public static @Nullable InetAddress source(RoleContext context, InetAddress target, @Nullable InetAddress given) {
        if (given != null || !context.staysOnDevice() || target.isLoopbackAddress() || target.isAnyLocalAddress()) {
            return given;
        }
        FabricDevice device = context.device();
        if (target.isLinkLocalAddress() && !device.address().isLinkLocalAddress()) {
            // Its scope names the interface by itself.
            return null;
        }
        return Addresses.find(device, target instanceof Inet4Address).orElse(null);
    }

    /** Returns {@link #source(RoleContext, InetAddress, InetAddress)} as text, for addresses that librdmacm looks up. */
    public static @Nullable String source(RoleContext context, Format format, String target, @Nullable String given) {
        if (given != null || !context.staysOnDevice()) {
            return given;
        }
        if (format == Format.GID) {
            return context.device().gid().gid().toString();
        }
        try {
            InetAddress found = source(context, InetAddress.getByName(target), null);
            return found == null ? null : found.getHostAddress();
        } catch (UnknownHostException e) {
            // The look-up that follows says so, and how to mend it.
            return null;
        }
    }

    /**
     * Requires an id to be on the device under test, and on its port.
     *
     * @param id an id whose address is resolved, or that of a request
     * @throws ScenarioException if it is on another one; names both
     */
    public static void require(RoleContext context, CmId id) {
        if (!context.staysOnDevice() || !id.hasDevice()) {
            return;
        }
        FabricDevice wanted = context.device();
        require(wanted, id.context().deviceName(), id.port(), id.describe());
    }

    /**
     * Requires a queue pair that is connected to be on the device under test, and to use its GID where one was chosen by index.
     *
     * @throws ScenarioException if it is on another one; names both
     */
    public static void require(RoleContext context, QueuePair queuePair) {
        if (!context.staysOnDevice()) {
            return;
        }
        FabricDevice wanted = context.device();
        boolean byIndex = wanted.node().gid().index().isPresent()
                && wanted.portAttributes().linkLayer() == LinkLayer.ETHERNET;
        AddressHandleAttributes vector = byIndex ? queuePair.query().addressVector() : null;
        require(wanted, queuePair.deviceName(), vector == null ? wanted.port() : vector.port(), queuePair.describe());
        GidEntry gid = wanted.gid();
        if (vector != null && vector.gidIndex() != gid.index()) {
            throw new ScenarioException(
                    Reason.WRONG_DEVICE,
                    ("%s uses GID index %d of %s/%d (%s), not %d (%s, %s), which is under test. rdma_cm finds the index by the"
                                    + " address and by the port's default type of GID: choose the GID that it uses, or connect"
                                    + " without rdma_cm")
                            .formatted(
                                    queuePair.describe(),
                                    vector.gidIndex(),
                                    wanted.device().name(),
                                    wanted.port(),
                                    text(wanted, vector.gidIndex()),
                                    gid.index(),
                                    gid.type(),
                                    gid.gid()));
        }
    }

    private static String text(FabricDevice device, int index) {
        try (DeviceContext opened = device.open()) {
            return opened.gidTable(device.port()).stream()
                    .filter(entry -> entry.index() == index)
                    .findFirst()
                    .map(entry -> entry.type() + ", " + entry.gid())
                    .orElse("an entry that is no longer there");
        }
    }

    private static void require(FabricDevice wanted, String device, int port, String connection) {
        if (!device.equals(wanted.device().name()) || port != wanted.port()) {
            throw new ScenarioException(
                    Reason.WRONG_DEVICE,
                    "%s uses %s/%d, not %s/%d, which is under test: the address of the peer, or the route to it, belongs to another device"
                            .formatted(connection, device, port, wanted.device().name(), wanted.port()));
        }
    }
}
