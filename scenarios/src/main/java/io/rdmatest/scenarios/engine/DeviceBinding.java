package io.rdmatest.scenarios.engine;

import io.rdmatest.Cause;
import io.rdmatest.cm.AddressInfo.Format;
import io.rdmatest.cm.CmId;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.scenarios.options.Addresses;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.scenarios.role.ScenarioException;
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
 * Keeps connections of rdma_cm on the device under test. Without a source address the kernel's routes choose the
 * device. Of several devices in one subnet they always choose the same one, so a broken device could pass.
 *
 * <p>A role binds to {@link #source} before it connects, and {@linkplain #require(RoleContext, CmId) checks} the device
 * of the connection. Both do nothing if the role {@linkplain RoleContext#staysOnDevice() may} use any device.
 */
public final class DeviceBinding {

    private DeviceBinding() {}

    /**
     * Returns the address to bind a client to.
     *
     * @param target the address that it connects to
     * @param given the address of an option; null if there is none
     * @return the option's address, or the device's address in the target's family; null if the routes decide: the role
     *     may use any device, the target is a loopback address, or the device has no address of that family
     */
    public static @Nullable InetAddress source(RoleContext context, InetAddress target, @Nullable InetAddress given) {
        if (given != null || !context.staysOnDevice() || target.isLoopbackAddress() || target.isAnyLocalAddress()) {
            return given;
        }
        FabricDevice device = context.device();
        if (target.isLinkLocalAddress() && !device.address().isLinkLocalAddress()) {
            // Its scope already names the interface.
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
            // The following look-up reports that with a cure.
            return null;
        }
    }

    /**
     * Requires an id to be on the device under test, and on its port.
     *
     * @param id an id with a resolved address, or the id of a request
     * @throws ScenarioException if it is on another device; the message names both
     */
    public static void require(RoleContext context, CmId id) {
        if (!context.staysOnDevice() || !id.hasDevice()) {
            return;
        }
        FabricDevice wanted = context.device();
        require(wanted, id.context().deviceName(), id.port(), id.describe());
    }

    /**
     * Requires a connected queue pair to be on the device under test, and to use its GID if that was selected by index.
     *
     * @throws ScenarioException if it is on another device; the message names both
     */
    public static void require(RoleContext context, QueuePair queuePair) {
        if (!context.staysOnDevice()) {
            return;
        }
        FabricDevice wanted = context.device();
        boolean byIndex = wanted.rail().gid().index().isPresent()
                && wanted.portAttributes().linkLayer() == LinkLayer.ETHERNET;
        AddressHandleAttributes vector = byIndex ? queuePair.query().addressVector() : null;
        require(wanted, queuePair.deviceName(), vector == null ? wanted.port() : vector.port(), queuePair.describe());
        GidEntry gid = wanted.gid();
        if (vector != null && vector.gidIndex() != gid.index()) {
            throw new ScenarioException(
                    Cause.WRONG_DEVICE,
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
                    .orElse("an entry that no longer exists");
        }
    }

    private static void require(FabricDevice wanted, String device, int port, String connection) {
        if (!device.equals(wanted.device().name()) || port != wanted.port()) {
            throw new ScenarioException(
                    Cause.WRONG_DEVICE,
                    "%s uses %s/%d, not %s/%d, which is under test: the address of the peer, or the route to it, belongs to another device"
                            .formatted(connection, device, port, wanted.device().name(), wanted.port()));
        }
    }
}
