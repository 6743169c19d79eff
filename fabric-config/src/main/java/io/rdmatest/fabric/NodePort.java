package io.rdmatest.fabric;

/**
 * A node on one of its rails. Its device, port and GID are as the file says, so they may be open; a {@link FabricDevice} has those
 * that were found.
 *
 * @param node the node
 * @param rail one of its rails, or that rail with another device, port or GID
 */
public record NodePort(Node node, Rail rail) {

    /**
     * Returns the node with another device and port on this rail.
     *
     * @param device the name of an RDMA device
     * @param port its port, 1 … 255
     */
    public NodePort onPort(String device, int port) {
        return new NodePort(node, rail.onPort(device, port));
    }

    /**
     * Returns the node with another GID on this rail. The address belongs to the old GID, so it is dropped.
     *
     * @param index the index of the GID in the table of the port, 0 … 255
     */
    public NodePort onGid(int index) {
        return new NodePort(node, rail.onGid(index));
    }

    /**
     * Finds the device, port and GID on this host. It opens devices to query them, and closes them again.
     *
     * @return the resolved device
     * @throws FabricException if there is no such device, port or GID, none is active, or the node is another host; the
     *     message has the devices and the cure
     * @throws io.rdmatest.NativeLibraryException if librdmacm or libibverbs is not installed
     */
    public FabricDevice resolve() {
        return DeviceResolver.resolve(this);
    }
}
