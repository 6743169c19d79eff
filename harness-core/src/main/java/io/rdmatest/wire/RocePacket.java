package io.rdmatest.wire;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A RoCE packet: its base transport header (section 9.2) and the extended headers that its operation has.
 *
 * @param time when it passed
 * @param destinationMac the Ethernet address that it goes to; null if the capture does not have it
 * @param source the IP address that it comes from
 * @param destination the IP address that it goes to
 * @param trafficClass the DSCP in the upper six bits and the congestion marks (ECN) in the lower two: the type of service of IPv4,
 *     the traffic class of IPv6 or of the GRH
 * @param sourcePort the UDP port that it comes from, which routers spread connections by; 0 of RoCE v1, which has none
 * @param opcode the operation
 * @param headerVersion the version of the header, 0
 * @param partitionKey the P_Key
 * @param destinationQp the queue pair that it goes to
 * @param acknowledgeRequested whether the responder is to acknowledge it
 * @param psn the packet sequence number, 24 bits
 * @param remoteMemory the RETH: where it reads or writes; null if the operation has none
 * @param acknowledgement the AETH: what is acknowledged; null if the operation has none
 * @param datagram the DETH: the sending queue pair and the Q_Key; null if the operation has none
 * @param immediate the immediate data; null if the operation has none
 * @param payloadLength the bytes of payload on the wire, without padding
 * @param payload those of them that were captured; read-only
 * @param checksum whether the invariant checksum is right; null if it can't be told
 * @param unchecked why the checksum can't be told, or {@link NotJudged#NO_CHECKSUM} if its field is zero; null otherwise
 * @param management the message of the communication manager that it carries; null if it carries none
 */
public record RocePacket(
        Instant time,
        @Nullable Mac destinationMac,
        InetAddress source,
        InetAddress destination,
        int trafficClass,
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
     * @param length how many bytes
     */
    public record Reth(long address, int key, long length) {}

    /**
     * The datagram extended transport header, section 9.3.2.
     *
     * @param queueKey the Q_Key
     * @param sourceQp the queue pair that sent it
     */
    public record Deth(int queueKey, int sourceQp) {}

    /** Tells whether a switch marked it: it met congestion (ECN CE, RFC 3168). */
    public boolean isCongestionMarked() {
        return (trafficClass & 3) == 3;
    }

    /** Returns the differentiated services code point, 0 to 63. */
    public int dscp() {
        return trafficClass >> 2;
    }

    /** Returns the message of the communication manager that it carries. */
    public Optional<CmMessage> cm() {
        return Optional.ofNullable(management);
    }

    /** Returns one line that names it. */
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
