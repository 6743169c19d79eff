package io.rdmatest.verbs;

/**
 * What each side must know about the other to connect two queue pairs without a connection manager.
 *
 * @param gid the GID of the local port at {@code gidIndex}
 * @param gidIndex its index in the table
 * @param port the local port, from 1
 * @param qpNumber the queue pair's number, 24 bits
 * @param psn the first packet sequence number that this side sends, 24 bits
 * @param mtu the port's active MTU; the smaller of both sides is used
 * @param lid the port's LID; 0 on RoCE
 */
public record RawAddress(Gid gid, int gidIndex, int port, int qpNumber, int psn, Mtu mtu, int lid) {

    /** Checks the ranges. */
    public RawAddress {
        DeviceContext.checkPort(port);
        AddressHandleAttributes.range("gidIndex", gidIndex, 255);
        AddressHandleAttributes.range("qpNumber", qpNumber, 0xffffff);
        AddressHandleAttributes.range("psn", psn, 0xffffff);
        AddressHandleAttributes.range("lid", lid, 0xffff);
    }

    /**
     * Reads the address of a queue pair from its port, with a GID that was read earlier.
     *
     * @param queuePair the queue pair
     * @param gid the GID; used at the index that it has now
     * @param psn the first packet sequence number to send, 24 bits
     * @return the address, to be given to the peer
     * @throws io.rdmatest.RdmaException if the port no longer has the GID
     */
    public static RawAddress of(QueuePair queuePair, GidEntry gid, int psn) {
        GidEntry current = queuePair.protectionDomain().context().current(gid);
        return of(queuePair, current.port(), current.index(), psn);
    }

    /**
     * Reads the address of the receiving end of an extended reliable connection from its port.
     *
     * @param target the receiving end
     * @param port the local port, from 1
     * @param gidIndex the index of the GID to use
     * @param psn the first packet sequence number to send, 24 bits
     * @return the address, to be given to the peer
     */
    public static RawAddress of(XrcTarget target, int port, int gidIndex, int psn) {
        return of(target.domain().context(), target.number(), port, gidIndex, psn);
    }

    /**
     * Reads the address of a queue pair from its port.
     *
     * @param queuePair the queue pair
     * @param port the local port, from 1
     * @param gidIndex the index of the GID to use
     * @param psn the first packet sequence number to send, 24 bits
     * @return the address, to be given to the peer
     */
    public static RawAddress of(QueuePair queuePair, int port, int gidIndex, int psn) {
        return of(queuePair.protectionDomain().context(), queuePair.number(), port, gidIndex, psn);
    }

    private static RawAddress of(DeviceContext context, int number, int port, int gidIndex, int psn) {
        PortAttributes attributes = context.port(port);
        return new RawAddress(
                context.gid(port, gidIndex), gidIndex, port, number, psn, attributes.activeMtu(), attributes.lid());
    }
}
