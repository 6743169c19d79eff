package io.rdmatest.fabric;

import io.rdmatest.ReportKeys;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.LinkLayer;
import io.rdmatest.verbs.PortAttributes;
import io.rdmatest.verbs.RdmaDevice;
import io.rdmatest.verbs.Transport;
import java.net.InetAddress;
import java.util.Collections;
import java.util.Map;
import java.util.SortedMap;

/** The device, port and GID of a resolved node, as of that time. */
public final class FabricDevice {

    private final NodePort on;
    private final RdmaDevice device;
    private final int port;
    private final PortAttributes portAttributes;
    private final GidEntry gid;
    private final InetAddress address;
    private final Map<String, String> environment;

    FabricDevice(
            NodePort on,
            RdmaDevice device,
            int port,
            PortAttributes portAttributes,
            GidEntry gid,
            InetAddress address,
            Map<String, String> environment) {
        this.on = on;
        this.device = device;
        this.port = port;
        this.portAttributes = portAttributes;
        this.gid = gid;
        this.address = address;
        this.environment = Collections.unmodifiableMap(environment);
    }

    /** Returns the node that was resolved. */
    public Node node() {
        return on.node();
    }

    /** Returns the rail that was resolved, as the file says it. */
    public Rail rail() {
        return on.rail();
    }

    /** Returns the device. */
    public RdmaDevice device() {
        return device;
    }

    /** Returns the port, 1 … 255. */
    public int port() {
        return port;
    }

    /** Returns the port's attributes. */
    public PortAttributes portAttributes() {
        return portAttributes;
    }

    /** Returns the GID, with its index and type. */
    public GidEntry gid() {
        return gid;
    }

    /** Returns the IP address by which rdma_cm reaches the port; a link-local one has its interface as scope. */
    public InetAddress address() {
        return address;
    }

    /**
     * Returns whether a GID of the port is usable in this network namespace. The table of a shared device has the
     * addresses of all its namespaces.
     *
     * @param entry an entry of the port's GID table
     * @return false if its network interface is in another network namespace; always true for InfiniBand and iWARP
     */
    public boolean isUsable(GidEntry entry) {
        return portAttributes.linkLayer() == LinkLayer.INFINIBAND
                || device.transport() == Transport.IWARP
                || DeviceResolver.presence(device, entry) != PortSelector.Presence.ELSEWHERE;
    }

    /**
     * Opens the device.
     *
     * @return a context, which the caller closes
     * @throws io.rdmatest.RdmaException if it can't be opened
     */
    public DeviceContext open() {
        return device.open();
    }

    /**
     * Reads the current counters of the port and the device: {@link RdmaDevice#portCounters} and {@link
     * RdmaDevice#hardwareCounters}.
     *
     * @return the counters by name; empty if the device has none
     */
    public SortedMap<String, Long> counters() {
        SortedMap<String, Long> counters = device.portCounters(port);
        counters.putAll(device.hardwareCounters(port));
        return counters;
    }

    /**
     * Returns the environment for reports: host, in a virtual machine of the project {@value ReportKeys#MACHINE}, kernel, rdma-core,
     * device, driver, firmware, port, linkLayer, rate, mtu, gidIndex, gidValue, gidType, netdev, address, fabric, of a node
     * with rails rail, java, in this order. Unavailable values are {@code unknown}.
     */
    public Map<String, String> environment() {
        return environment;
    }

    @Override
    public String toString() {
        return device.name() + "/" + port + " GID " + gid.index() + " (" + gid.type() + ", " + gid.gid() + ")";
    }
}
