package io.rdmatest.verbs;

/**
 * The state and the limits of a port (ibv_query_port(3)).
 *
 * @param state the logical state
 * @param maxMtu the largest MTU that the port can do
 * @param activeMtu the MTU in use
 * @param linkLayer what carries the packets
 * @param gidTableLength entries of the GID table, used or not
 * @param maxMessageSize the largest message in bytes, an unsigned number of 32 bits; 2^31 or 2^32 − 1 on some devices
 * @param pkeyTableLength entries of the partition table
 * @param lid the local identifier; 0 on Ethernet
 * @param smLid the subnet manager's local identifier; 0 on Ethernet
 * @param lmc the LID mask count: 2^lmc LIDs lead here
 * @param activeWidth lanes in use; 0 if unknown
 * @param activeSpeed the speed of a lane as IBV reports it (1 SDR, 2 DDR, 4 QDR, 8 FDR10, 16 FDR, 32 EDR, 64 HDR, 128 NDR, 256
 *     XDR). The kernel reports speeds above NDR only to rdma-core 49 and later; to older releases it reports 128
 * @param rateGbps width times the nominal speed of a lane, in Gb/s; 0 if unknown
 * @param physicalState the physical state as IBV reports it (5 is LinkUp)
 * @param capabilityFlags IBV_PORT_* bits as the port reports them
 * @param flags IBV_QPF_* bits, for example that a GRH is required
 */
public record PortAttributes(
        PortState state,
        Mtu maxMtu,
        Mtu activeMtu,
        LinkLayer linkLayer,
        int gidTableLength,
        long maxMessageSize,
        int pkeyTableLength,
        int lid,
        int smLid,
        int lmc,
        int activeWidth,
        int activeSpeed,
        double rateGbps,
        int physicalState,
        int capabilityFlags,
        int flags) {

    /** Tells whether data can flow through the port. */
    public boolean isActive() {
        return state == PortState.ACTIVE;
    }

    static int lanes(int widthCode) {
        return switch (widthCode) {
            case 1 -> 1;
            case 2 -> 4;
            case 4 -> 8;
            case 8 -> 12;
            case 16 -> 2;
            default -> 0;
        };
    }

    /** The nominal speed of a lane in Gb/s, as the kernel prints it in sysfs. */
    static double laneGbps(int speedCode) {
        return switch (speedCode) {
            case 1 -> 2.5;
            case 2 -> 5;
            case 4, 8 -> 10;
            case 16 -> 14;
            case 32 -> 25;
            case 64 -> 50;
            case 128 -> 100;
            case 256 -> 200;
            default -> 0;
        };
    }
}
