package io.rdmatest.internal;

import static java.lang.foreign.MemoryLayout.PathElement.groupElement;
import static java.lang.foreign.MemoryLayout.paddingLayout;
import static java.lang.foreign.MemoryLayout.structLayout;

import io.rdmatest.ffi.ibv_device_attr;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/**
 * The layout of struct ibv_device_attr_ex (ibv_query_device_ex(3)), written by hand: the generated bindings have the
 * call, but not its struct. A test compares it with the C compiler's layout.
 */
public final class ExtendedDeviceLayout {

    private static final ValueLayout.OfLong U64 = ValueLayout.JAVA_LONG;
    private static final ValueLayout.OfInt U32 = ValueLayout.JAVA_INT;
    private static final ValueLayout.OfShort U16 = ValueLayout.JAVA_SHORT;

    /** The struct of rdma-core 44. A provider fills no more than the passed size. */
    public static final StructLayout LAYOUT = structLayout(
                    ibv_device_attr.layout().withName("orig_attr"),
                    U32.withName("comp_mask"),
                    paddingLayout(4),
                    structLayout(
                                    U64.withName("general_caps"),
                                    structLayout(
                                                    U32.withName("rc_odp_caps"),
                                                    U32.withName("uc_odp_caps"),
                                                    U32.withName("ud_odp_caps"))
                                            .withName("per_transport_caps"),
                                    paddingLayout(4))
                            .withName("odp_caps"),
                    U64.withName("completion_timestamp_mask"),
                    U64.withName("hca_core_clock"),
                    U64.withName("device_cap_flags_ex"),
                    structLayout(U32.withName("max_tso"), U32.withName("supported_qpts"))
                            .withName("tso_caps"),
                    structLayout(
                                    U32.withName("supported_qpts"),
                                    U32.withName("max_rwq_indirection_tables"),
                                    U32.withName("max_rwq_indirection_table_size"),
                                    paddingLayout(4),
                                    U64.withName("rx_hash_fields_mask"),
                                    ValueLayout.JAVA_BYTE.withName("rx_hash_function"),
                                    paddingLayout(7))
                            .withName("rss_caps"),
                    U32.withName("max_wq_type_rq"),
                    structLayout(
                                    U32.withName("qp_rate_limit_min"),
                                    U32.withName("qp_rate_limit_max"),
                                    U32.withName("supported_qpts"))
                            .withName("packet_pacing_caps"),
                    U32.withName("raw_packet_caps"),
                    structLayout(
                                    U32.withName("max_rndv_hdr_size"),
                                    U32.withName("max_num_tags"),
                                    U32.withName("flags"),
                                    U32.withName("max_ops"),
                                    U32.withName("max_sge"))
                            .withName("tm_caps"),
                    structLayout(U16.withName("max_cq_count"), U16.withName("max_cq_period"))
                            .withName("cq_mod_caps"),
                    paddingLayout(4),
                    U64.withName("max_dm_size"),
                    structLayout(U16.withName("fetch_add"), U16.withName("swap"), U16.withName("compare_swap"))
                            .withName("pci_atomic_caps"),
                    paddingLayout(2),
                    U32.withName("xrc_odp_caps"),
                    U32.withName("phys_port_cnt_ex"))
            .withName("ibv_device_attr_ex");

    private ExtendedDeviceLayout() {}

    /**
     * Reads a field of 64 bits.
     *
     * @param struct the struct
     * @param path the field's name, or the names of the structs around it and its own
     * @return the value
     */
    public static long u64(MemorySegment struct, String... path) {
        return struct.get(U64, offset(path));
    }

    /**
     * Reads a field of 32 bits.
     *
     * @param struct the struct
     * @param path the field's name, or the names of the structs around it and its own
     * @return the value; 2³¹ and more are negative
     */
    public static int u32(MemorySegment struct, String... path) {
        return struct.get(U32, offset(path));
    }

    private static long offset(String... path) {
        return LAYOUT.byteOffset(
                Arrays.stream(path).map(name -> groupElement(name)).toArray(PathElement[]::new));
    }
}
