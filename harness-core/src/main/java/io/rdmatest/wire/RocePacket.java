package io.rdmatest.wire;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A RoCE packet: its base transport header (section 9.2) and the extended headers of its operation.
 *
 * @param time the time of capture
 * @param destinationMac the destination Ethernet address; null if the capture does not have it
 * @param source the source IP address
 * @param destination the destination IP address
 * @param trafficClass the type of service of IPv4, or the traffic class of IPv6 or of the GRH: DSCP in the upper six
 *     bits, ECN in the lower two
 * @param identification the identification of the IPv4 header, which is the same in copies of a packet; -1 if it has none
 * @param sourcePort the source UDP port, by which ECMP distributes connections; 0 for RoCE v1
 * @param opcode the operation
 * @param headerVersion the version of the header, 0
 * @param partitionKey the P_Key
 * @param destinationQp the destination queue pair
 * @param acknowledgeRequested whether the requester asks for an acknowledgement
 * @param psn the packet sequence number, 24 bits
 * @param remoteMemory the RETH: the remote memory of a read or write; null if the operation has none
 * @param acknowledgement the AETH; null if the operation has none
 * @param datagram the DETH: the sending queue pair and the Q_Key; null if the operation has none
 * @param immediate the immediate data; null if the operation has none
 * @param payloadLength the bytes of payload on the wire, without padding
 * @param payload the captured bytes of the payload; read-only
 * @param checksum whether the invariant checksum is right; null if unknown
 * @param unchecked why the checksum is unknown, or {@link NotJudged#NO_CHECKSUM} if its field is zero; null otherwise
 * @param management its message of the communication manager; null if none
 */
public record RocePacket(
        Instant time,
        @Nullable Mac destinationMac,
        InetAddress source,
        InetAddress destination,
        int trafficClass,
        int identification,
        int sourcePort,
        Opcode opcode,
        int headerVersion,
        int partitionKey,
        int destinationQp,
        boolean acknowledgeRequested,
        int psn,
        @Nullable Reth remoteMemory,
        @Nullable Aeth acknowledgement,
        @Nullable Deth datagram,
        @Nullable Long immediate,
        int payloadLength,
        ByteBuffer payload,
        @Nullable Boolean checksum,
        @Nullable NotJudged unchecked,
        @Nullable CmMessage management)
        implements WirePacket {

    /** The UDP port of RoCEv2, annex A17. */
    public static final int PORT = 4791;

    /** The Ethernet type of RoCE v1, annex A16. */
    public static final int ETHERNET_TYPE_V1 = 0x8915;

    /** The queue pair number of a multicast group. */
    public static final int MULTICAST_QP = 0xff_ffff;

    /**
     * The RDMA extended transport header, section 9.3.3.
     *
     * @param address the virtual address
     * @param key the R_Key
     * @param length the length in bytes
     */
    public record Reth(long address, int key, long length) {}

    /**
     * The datagram extended transport header, section 9.3.2.
     *
     * @param queueKey the Q_Key
     * @param sourceQp the sending queue pair
     */
    public record Deth(int queueKey, int sourceQp) {}

    /** Returns whether a switch marked it as having met congestion (ECN CE, RFC 3168). */
    public boolean isCongestionMarked() {
        return (trafficClass & 3) == 3;
    }

    /** Returns the differentiated services code point, 0 to 63. */
    public int dscp() {
        return trafficClass >> 2;
    }

    /** Returns its message of the communication manager. */
    public Optional<CmMessage> cm() {
        return Optional.ofNullable(management);
    }

    /** Returns a description in one line. */
    public String text() {
        return "%s %s→%s QP 0x%06x PSN %d%s"
                .formatted(
                        opcode,
                        source.getHostAddress(),
                        destination.getHostAddress(),
                        destinationQp,
                        psn,
                        acknowledgement == null ? "" : " (" + acknowledgement.text() + ")");
    }
}
