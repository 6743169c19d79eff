package io.rdmatest.internal;

import static java.lang.foreign.MemoryLayout.paddingLayout;
import static java.lang.foreign.MemoryLayout.sequenceLayout;
import static java.lang.foreign.MemoryLayout.structLayout;

import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * The layout of struct ibv_sa_path_rec (infiniband/sa.h), written by hand: the generated bindings have a pointer to it only. A test
 * compares it with what the C compiler says.
 */
public final class PathRecordLayout {

    private static final ValueLayout.OfByte U8 = ValueLayout.JAVA_BYTE;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    private static final ValueLayout.OfShort BE16 = ValueLayout.JAVA_SHORT.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfInt BE32 = ValueLayout.JAVA_INT.withOrder(ByteOrder.BIG_ENDIAN);

    /** The struct. */
    public static final StructLayout LAYOUT = structLayout(
                    sequenceLayout(16, U8).withName("dgid"),
                    sequenceLayout(16, U8).withName("sgid"),
                    BE16.withName("dlid"),
                    BE16.withName("slid"),
                    INT.withName("raw_traffic"),
                    BE32.withName("flow_label"),
                    U8.withName("hop_limit"),
                    U8.withName("traffic_class"),
                    paddingLayout(2),
                    INT.withName("reversible"),
                    U8.withName("numb_path"),
                    paddingLayout(1),
                    BE16.withName("pkey"),
                    U8.withName("sl"),
                    U8.withName("mtu_selector"),
                    U8.withName("mtu"),
                    U8.withName("rate_selector"),
                    U8.withName("rate"),
                    U8.withName("packet_life_time_selector"),
                    U8.withName("packet_life_time"),
                    U8.withName("preference"))
            .withName("ibv_sa_path_rec");

    private PathRecordLayout() {}

    /**
     * Reads a field of 8 bits.
     *
     * @param record the struct
     * @param field its name
     * @return 0 to 255
     */
    public static int u8(MemorySegment record, String field) {
        return Byte.toUnsignedInt(record.get(U8, offset(field)));
    }

    /**
     * Reads a field of 16 bits in network byte order.
     *
     * @param record the struct
     * @param field its name
     * @return 0 to 65535
     */
    public static int be16(MemorySegment record, String field) {
        return Short.toUnsignedInt(record.get(BE16, offset(field)));
    }

    /**
     * Reads a field of 32 bits in network byte order.
     *
     * @param record the struct
     * @param field its name
     * @return its bits
     */
    public static int be32(MemorySegment record, String field) {
        return record.get(BE32, offset(field));
    }

    /**
     * Reads an int.
     *
     * @param record the struct
     * @param field its name
     * @return its value
     */
    public static int number(MemorySegment record, String field) {
        return record.get(INT, offset(field));
    }

    /**
     * Reads a GID.
     *
     * @param record the struct
     * @param field its name
     * @return its 16 bytes
     */
    public static byte[] gid(MemorySegment record, String field) {
        return record.asSlice(offset(field), 16).toArray(U8);
    }

    private static long offset(String field) {
        return LAYOUT.byteOffset(PathElement.groupElement(field));
    }
}
