package io.rdmatest.wire;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * A message of the communication manager, sections 12.6 and 12.11: a management datagram to queue pair 1.
 *
 * @param type the type of message
 * @param transaction the transaction ID of the datagram
 * @param localId the communication ID of the sender; the request ID of a SIDR message
 * @param remoteId the communication ID of the receiver; 0 if the message has none
 * @param queuePair the queue pair of the sender (REQ, REP, SIDR REP), or the receiver's queue pair to disconnect
 *     (DREQ); 0 if the message has none
 * @param startingPsn the packet sequence number at which the receiver must start (REQ, REP); 0 if the message has none
 * @param mtu the path MTU in bytes (REQ); 0 if the message has none
 * @param retrying how long the sides may repeat an unanswered request at most (REQ): four ACK timeouts for each attempt, section
 *     9.7.6.1.3; zero if there is no limit, or the message has none
 * @param serviceId the service that the sender connects to (REQ, SIDR REQ, SIDR REP); 0 if the message has none
 * @param reason the reject reason (REJ), or the status (SIDR REP); 0 if the message has none
 * @param privateData the private data field, read-only, padded with zeros to its full length; a request of rdma_cm
 *     begins with rdma_cm's own header
 */
public record CmMessage(
        Type type,
        long transaction,
        int localId,
        int remoteId,
        int queuePair,
        int startingPsn,
        int mtu,
        Duration retrying,
        long serviceId,
        int reason,
        ByteBuffer privateData) {

    /** The message types, with the attribute IDs of the specification's table 105. */
    public enum Type {
        /** Request for a connection. */
        REQ(0x10, 140, 92),
        /** Message receipt acknowledged: the reply will take longer. */
        MRA(0x11, 10, 222),
        /** Reject. */
        REJ(0x12, 84, 148),
        /** Reply to a request. */
        REP(0x13, 36, 196),
        /** Ready to use. */
        RTU(0x14, 8, 224),
        /** Request to disconnect. */
        DREQ(0x15, 12, 220),
        /** Reply to a request to disconnect. */
        DREP(0x16, 8, 224),
        /** Service ID resolution request: asks for the queue pair of a datagram service. */
        SIDR_REQ(0x17, 16, 216),
        /** Service ID resolution response. */
        SIDR_REP(0x18, 96, 136),
        /** Load alternate path. */
        LAP(0x19, 64, 168),
        /** Alternate path response. */
        APR(0x1a, 84, 148);

        private final int attribute;
        private final int privateDataOffset;
        private final int privateDataLength;

        Type(int attribute, int privateDataOffset, int privateDataLength) {
            this.attribute = attribute;
            this.privateDataOffset = privateDataOffset;
            this.privateDataLength = privateDataLength;
        }
    }

    /** The upper bits of rdma_cm's service IDs. The port space and the port follow: annex A11. */
    private static final long RDMA_CM_SERVICES = 0x0000_0000_0100_0000L;

    private static final long RDMA_CM_MASK = 0xffff_ffff_ff00_0000L;
    private static final int RDMA_CM_HEADER = 36;

    private static final int HEADER = 24;
    private static final int MANAGEMENT_CLASS = 7;
    private static final int PSN_SHIFT = 8;
    private static final int SMALLEST_MTU = 128;

    /** Decodes a datagram; null if it has another class, or was captured only in part. */
    static @Nullable CmMessage of(ByteBuffer datagram) {
        if (datagram.remaining() < HEADER || datagram.get(1) != MANAGEMENT_CLASS) {
            return null;
        }
        int attribute = Short.toUnsignedInt(datagram.getShort(16));
        for (Type type : Type.values()) {
            if (type.attribute == attribute
                    && datagram.remaining() >= HEADER + type.privateDataOffset + type.privateDataLength) {
                return of(type, datagram.getLong(8), datagram.slice(HEADER, datagram.remaining() - HEADER));
            }
        }
        return null;
    }

    private static CmMessage of(Type type, long transaction, ByteBuffer data) {
        boolean sidr = type == Type.SIDR_REQ || type == Type.SIDR_REP;
        return new CmMessage(
                type,
                transaction,
                data.getInt(0),
                type == Type.REQ || sidr ? 0 : data.getInt(4),
                switch (type) {
                    case REQ -> data.getInt(32) >>> PSN_SHIFT;
                    case REP -> data.getInt(12) >>> PSN_SHIFT;
                    case DREQ, SIDR_REP -> data.getInt(8) >>> PSN_SHIFT;
                    default -> 0;
                },
                switch (type) {
                    case REQ -> data.getInt(44) >>> PSN_SHIFT;
                    case REP -> data.getInt(20) >>> PSN_SHIFT;
                    default -> 0;
                },
                // 1 is 256 bytes, 5 is 4096.
                type == Type.REQ ? SMALLEST_MTU << (data.get(50) >> 4 & 7) : 0,
                type == Type.REQ ? retrying(data.get(95) >> 3 & 0x1f, data.get(47) & 7) : Duration.ZERO,
                switch (type) {
                    case REQ, SIDR_REQ -> data.getLong(8);
                    case SIDR_REP -> data.getLong(12);
                    default -> 0;
                },
                switch (type) {
                    case REJ -> Short.toUnsignedInt(data.getShort(10));
                    case SIDR_REP -> data.get(4);
                    default -> 0;
                },
                data.slice(type.privateDataOffset, type.privateDataLength).asReadOnlyBuffer());
    }

    /** The ACK timeout is 4.096 us times 2 to the power of its field; 0 is no limit. */
    private static Duration retrying(int ackTimeout, int retries) {
        return ackTimeout == 0 ? Duration.ZERO : Duration.ofNanos((4096L << ackTimeout) * 4 * (retries + 1));
    }

    /** Returns the port of a request of rdma_cm; -1 for other messages. */
    public int port() {
        return isOfRdmaCm() ? (int) (serviceId & 0xffff) : -1;
    }

    private boolean isOfRdmaCm() {
        return (type == Type.REQ || type == Type.SIDR_REQ) && (serviceId & RDMA_CM_MASK) == RDMA_CM_SERVICES;
    }

    /** Returns the program's private data, without rdma_cm's own header; padded with zeros. */
    public byte[] userPrivateData() {
        int skipped = isOfRdmaCm() ? RDMA_CM_HEADER : 0;
        byte[] bytes = new byte[privateData.remaining() - skipped];
        privateData.get(privateData.position() + skipped, bytes);
        return bytes;
    }

    /** Returns a description in one line, with the private data up to its last byte that is not zero. */
    public String text() {
        StringBuilder text = new StringBuilder(type.name());
        text.append(" ids 0x%08x 0x%08x".formatted(localId, remoteId));
        if (queuePair != 0) {
            text.append(" QP 0x%06x".formatted(queuePair));
        }
        if (type == Type.REQ || type == Type.REP) {
            text.append(" PSN ").append(startingPsn);
        }
        if (port() >= 0) {
            text.append(" port ").append(port());
        }
        if (reason != 0) {
            text.append(type == Type.REJ ? " reason " : " status ").append(reason);
        }
        byte[] data = userPrivateData();
        int length = data.length;
        while (length > 0 && data[length - 1] == 0) {
            length--;
        }
        if (length > 0) {
            text.append(" private data ").append(HexFormat.of().formatHex(Arrays.copyOf(data, length)));
        }
        return text.toString();
    }
}
