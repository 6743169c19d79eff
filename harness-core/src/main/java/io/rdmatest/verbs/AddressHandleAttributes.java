package io.rdmatest.verbs;

import org.jspecify.annotations.Nullable;

/**
 * Where packets go: the address vector (struct ibv_ah_attr; ibv_create_ah(3); IBTA volume 1, section 11.2.2.1).
 *
 * @param port the local port, from 1
 * @param gid the destination's GID; null for a destination in the same InfiniBand subnet, never null on RoCE
 * @param gidIndex the index of the source GID in the local port's table
 * @param lid the destination's LID; 0 on RoCE
 * @param serviceLevel 0 to 15 on InfiniBand; the priority 0 to 7 on RoCE
 * @param pathBits the low bits of the source LID; 0 on RoCE
 * @param staticRate the largest rate, as enum ibv_rate; 0 for the port's own
 * @param flowLabel 20 bits; on RoCE v2 it chooses the source port of UDP, see {@link #udpSourcePort(int)}
 * @param hopLimit 0 to 255; must be over 1 for a routed destination
 * @param trafficClass 0 to 255; on RoCE v2 the DSCP and ECN bits
 */
public record AddressHandleAttributes(
        int port,
        @Nullable Gid gid,
        int gidIndex,
        int lid,
        int serviceLevel,
        int pathBits,
        int staticRate,
        int flowLabel,
        int hopLimit,
        int trafficClass) {

    /** IB_ROCE_UDP_ENCAP_VALID_PORT_MIN. */
    private static final int LOWEST_PORT = 0xc000;

    /** The number of low bits of a flow label that make up the port. The bits above are folded into them. */
    private static final int PORT_WIDTH = 14;

    private static final int PORT_BITS = (1 << PORT_WIDTH) - 1;

    /** Checks the ranges. */
    public AddressHandleAttributes {
        DeviceContext.checkPort(port);
        range("gidIndex", gidIndex, 255);
        range("lid", lid, 0xffff);
        range("serviceLevel", serviceLevel, 15);
        range("pathBits", pathBits, 127);
        range("staticRate", staticRate, 255);
        range("flowLabel", flowLabel, 0xfffff);
        range("hopLimit", hopLimit, 255);
        range("trafficClass", trafficClass, 255);
    }

    /**
     * Makes an address vector with a GID, as RoCE needs it: hop limit 64, everything else 0.
     *
     * @param port the local port, from 1
     * @param gidIndex the index of the source GID in the local port's table
     * @param gid the destination's GID
     * @return the address vector
     */
    public static AddressHandleAttributes toGid(int port, int gidIndex, Gid gid) {
        return new AddressHandleAttributes(port, gid, gidIndex, 0, 0, 0, 0, 0, 64, 0);
    }

    /**
     * Makes an address vector inside an InfiniBand subnet.
     *
     * @param port the local port, from 1
     * @param lid the destination's LID
     * @return the address vector
     */
    public static AddressHandleAttributes toLid(int port, int lid) {
        return new AddressHandleAttributes(port, null, 0, lid, 0, 0, 0, 0, 0, 0);
    }

    /**
     * Returns a copy with another traffic class.
     *
     * @param value 0 to 255
     */
    public AddressHandleAttributes withTrafficClass(int value) {
        return new AddressHandleAttributes(
                port, gid, gidIndex, lid, serviceLevel, pathBits, staticRate, flowLabel, hopLimit, value);
    }

    /**
     * Returns a copy with another service level.
     *
     * @param value 0 to 15
     */
    public AddressHandleAttributes withServiceLevel(int value) {
        return new AddressHandleAttributes(
                port, gid, gidIndex, lid, value, pathBits, staticRate, flowLabel, hopLimit, trafficClass);
    }

    /**
     * Returns a copy with another hop limit.
     *
     * @param value 0 to 255
     */
    public AddressHandleAttributes withHopLimit(int value) {
        return new AddressHandleAttributes(
                port, gid, gidIndex, lid, serviceLevel, pathBits, staticRate, flowLabel, value, trafficClass);
    }

    /**
     * Returns a copy with another LID.
     *
     * @param value 0 to 65535
     */
    public AddressHandleAttributes withLid(int value) {
        return new AddressHandleAttributes(
                port, gid, gidIndex, value, serviceLevel, pathBits, staticRate, flowLabel, hopLimit, trafficClass);
    }

    /**
     * Returns a copy whose packets carry a global route header.
     *
     * @param value the destination's GID
     * @param index the index of the source GID in the local port's table, 0 to 255
     */
    public AddressHandleAttributes withGid(Gid value, int index) {
        return new AddressHandleAttributes(
                port, value, index, lid, serviceLevel, pathBits, staticRate, flowLabel, hopLimit, trafficClass);
    }

    /**
     * Returns a copy with another flow label. The flow label has no effect without a global route header.
     *
     * @param value 20 bits
     */
    public AddressHandleAttributes withFlowLabel(int value) {
        return new AddressHandleAttributes(
                port, gid, gidIndex, lid, serviceLevel, pathBits, staticRate, value, hopLimit, trafficClass);
    }

    /**
     * Returns a copy with another static rate.
     *
     * @param value the largest rate, as enum ibv_rate, 0 to 255; 0 for the port's own
     */
    public AddressHandleAttributes withStaticRate(int value) {
        return new AddressHandleAttributes(
                port, gid, gidIndex, lid, serviceLevel, pathBits, value, flowLabel, hopLimit, trafficClass);
    }

    /**
     * Returns a copy with other path bits.
     *
     * @param value the low bits of the source LID, 0 to 127; no more bits than the port's LMC
     */
    public AddressHandleAttributes withPathBits(int value) {
        return new AddressHandleAttributes(
                port, gid, gidIndex, lid, serviceLevel, value, staticRate, flowLabel, hopLimit, trafficClass);
    }

    /**
     * Returns the UDP source port of RoCE v2 packets with a flow label (ibv_flow_label_to_udp_sport). Switches hash the port to
     * choose one of several paths. Some devices choose the port by themselves and do not use the flow label, for example
     * soft-RoCE for datagrams.
     *
     * @param flowLabel 20 bits
     * @return 49152 to 65535
     */
    public static int udpSourcePort(int flowLabel) {
        range("flowLabel", flowLabel, 0xfffff);
        return LOWEST_PORT | (flowLabel & PORT_BITS) ^ (flowLabel >> PORT_WIDTH);
    }

    /**
     * Returns the flow label that the kernel computes for a connection without one (rdma_calc_flow_label). The UDP source port
     * follows from it.
     *
     * @param localQp the number of the queue pair on this side, 24 bits
     * @param remoteQp the number of the peer's queue pair, 24 bits
     * @return 20 bits
     */
    public static int flowLabel(int localQp, int remoteQp) {
        range("localQp", localQp, 0xffffff);
        range("remoteQp", remoteQp, 0xffffff);
        long product = (long) localQp * remoteQp;
        product ^= product >>> 20;
        product ^= product >>> 40;
        return (int) (product & 0xfffff);
    }

    /**
     * Returns a flow label that {@link #udpSourcePort(int)} maps to a given UDP source port. The label is never 0, because
     * devices treat 0 as no label.
     *
     * @param port 49152 to 65535
     * @return 20 bits
     */
    public static int flowLabelOfUdpSourcePort(int port) {
        if (port < LOWEST_PORT || port > 0xffff) {
            throw new IllegalArgumentException("a source port of RoCE v2 is " + LOWEST_PORT + " to 65535, not " + port);
        }
        int low = port & PORT_BITS;
        return low != 0 ? low : 1 << PORT_WIDTH | 1;
    }

    /**
     * Returns a copy whose packets have a given UDP source port, on RoCE v2.
     *
     * @param port 49152 to 65535
     */
    public AddressHandleAttributes withUdpSourcePort(int port) {
        return withFlowLabel(flowLabelOfUdpSourcePort(port));
    }

    static void range(String name, int value, int max) {
        if (value < 0 || value > max) {
            throw new IllegalArgumentException(name + " is 0 to " + max + ", not " + value);
        }
    }
}
