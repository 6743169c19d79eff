package io.rdmatest.cm;

import io.rdmatest.internal.PathRecordLayout;
import io.rdmatest.verbs.AddressHandleAttributes;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.Mtu;
import java.lang.foreign.MemorySegment;
import java.math.BigDecimal;
import java.time.Duration;

/**
 * A path of a connection, as the subnet manager of InfiniBand or the kernel of a RoCE host returned it (struct ibv_sa_path_rec,
 * infiniband/sa.h; IBTA volume 1, section 15.2.5.16).
 *
 * @param sourceGid the GID that packets come from
 * @param destinationGid the GID that packets go to
 * @param sourceLid the LID that packets come from, 0 to 65535; 0 on RoCE
 * @param destinationLid the LID that packets go to, 0 to 65535; 0 on RoCE
 * @param pkey the P_Key, 0 to 65535; the highest bit means full membership
 * @param serviceLevel 0 to 15
 * @param mtu the path's MTU
 * @param rate the path's rate, as enum ibv_rate
 * @param flowLabel 20 bits
 * @param hopLimit 0 to 255; over 1 if a router is on the path
 * @param trafficClass 0 to 255
 * @param packetLifeTime how long a packet may be on its way: 4.096 us times 2^packetLifeTime, 0 to 63
 * @param reversible whether answers may take the same path back
 */
public record PathRecord(
        Gid sourceGid,
        Gid destinationGid,
        int sourceLid,
        int destinationLid,
        int pkey,
        int serviceLevel,
        Mtu mtu,
        int rate,
        int flowLabel,
        int hopLimit,
        int trafficClass,
        int packetLifeTime,
        boolean reversible) {

    /** The rate in Gbit/s for each value of enum ibv_rate. The values are those of IBTA's table of rates. */
    private static final double[] GBPS = {
        0, 0, 2.5, 10, 30, 5, 20, 40, 60, 80, 120, 14, 56, 112, 168, 25, 100, 200, 300, 28, 50, 400, 600, 800, 1200
    };

    /**
     * Reads a record of librdmacm.
     *
     * @param hasLids whether the link layer has LIDs; on Ethernet the kernel leaves other data in their place
     */
    static PathRecord read(MemorySegment path, boolean hasLids) {
        return new PathRecord(
                Gid.of(PathRecordLayout.gid(path, "sgid")),
                Gid.of(PathRecordLayout.gid(path, "dgid")),
                hasLids ? PathRecordLayout.be16(path, "slid") : 0,
                hasLids ? PathRecordLayout.be16(path, "dlid") : 0,
                PathRecordLayout.be16(path, "pkey"),
                PathRecordLayout.u8(path, "sl"),
                Mtu.of(PathRecordLayout.u8(path, "mtu")),
                PathRecordLayout.u8(path, "rate"),
                PathRecordLayout.be32(path, "flow_label") & 0xfffff,
                PathRecordLayout.u8(path, "hop_limit"),
                PathRecordLayout.u8(path, "traffic_class"),
                PathRecordLayout.u8(path, "packet_life_time"),
                PathRecordLayout.number(path, "reversible") != 0);
    }

    /** Returns the path's rate in Gbit/s; 0 if the code is not known. */
    public double rateGbps() {
        return rate < GBPS.length ? GBPS[rate] : 0;
    }

    /** Returns how long a packet may be on its way. */
    public Duration lifeTime() {
        return Duration.ofNanos(packetLifeTime > 50 ? Long.MAX_VALUE : 4096L << packetLifeTime);
    }

    /** Tells whether packets carry a global route header: on RoCE, and on InfiniBand beyond a router. */
    public boolean isGlobal() {
        return destinationLid == 0 || hopLimit > 1;
    }

    /**
     * Makes the address vector of this path.
     *
     * @param port the local port, from 1
     * @param gidIndex the index of the source GID in the port's table; it has no effect without a global route header
     * @param lmc the port's LMC, 0 to 7: the number of low bits of the source LID that name a path
     * @return the address vector, with the path's LID, service level, static rate and path bits
     */
    public AddressHandleAttributes addressVector(int port, int gidIndex, int lmc) {
        AddressHandleAttributes vector = AddressHandleAttributes.toLid(port, destinationLid)
                .withServiceLevel(serviceLevel)
                .withStaticRate(rate)
                .withPathBits(sourceLid & (1 << lmc) - 1);
        return isGlobal()
                ? vector.withGid(destinationGid, gidIndex)
                        .withHopLimit(hopLimit)
                        .withFlowLabel(flowLabel)
                        .withTrafficClass(trafficClass)
                : vector;
    }

    /** Describes the path in one line, for a report. */
    @Override
    public String toString() {
        String lids = destinationLid == 0 ? "" : ", LID " + sourceLid + " to " + destinationLid;
        return sourceGid + " to " + destinationGid + lids + ", P_Key " + String.format("0x%04x", pkey) + ", SL "
                + serviceLevel + ", MTU " + mtu.bytes() + ", "
                + (rateGbps() == 0 ? "rate " + rate : decimal(rateGbps()) + " Gbit/s") + ", hop limit "
                + hopLimit;
    }

    /** Returns 1200 as "1200", and 2.5 as "2.5". */
    private static String decimal(double number) {
        return BigDecimal.valueOf(number).stripTrailingZeros().toPlainString();
    }
}
