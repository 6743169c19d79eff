package io.rdmatest.internal;

import static java.lang.foreign.MemoryLayout.sequenceLayout;
import static java.lang.foreign.MemoryLayout.structLayout;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.StructLayout;

/**
 * The layout of struct ibv_cq_ex (ibv_create_cq_ex(3)), which differs by architecture: a mutex of the C library stands before the
 * status. The generated bindings have the mutex of x86-64. A test compares it with the C compiler's layout.
 */
public final class ExtendedQueueLayout {

    /** The size of pthread_cond_t that glibc has on architectures of 64 bits. */
    private static final long CONDITION = 48;

    /** The struct. */
    public static final StructLayout LAYOUT = structLayout(
                    ADDRESS.withName("context"),
                    ADDRESS.withName("channel"),
                    ADDRESS.withName("cq_context"),
                    JAVA_INT.withName("handle"),
                    JAVA_INT.withName("cqe"),
                    sequenceLayout(ContextLayout.mutexSize(System.getProperty("os.arch")), JAVA_BYTE)
                            .withName("mutex"),
                    sequenceLayout(CONDITION, JAVA_BYTE).withName("cond"),
                    JAVA_INT.withName("comp_events_completed"),
                    JAVA_INT.withName("async_events_completed"),
                    JAVA_INT.withName("comp_mask"),
                    JAVA_INT.withName("status"),
                    JAVA_LONG.withName("wr_id"),
                    ADDRESS.withName("start_poll"),
                    ADDRESS.withName("next_poll"),
                    ADDRESS.withName("end_poll"),
                    ADDRESS.withName("read_opcode"),
                    ADDRESS.withName("read_vendor_err"),
                    ADDRESS.withName("read_byte_len"),
                    ADDRESS.withName("read_imm_data"),
                    ADDRESS.withName("read_qp_num"),
                    ADDRESS.withName("read_src_qp"),
                    ADDRESS.withName("read_wc_flags"),
                    ADDRESS.withName("read_slid"),
                    ADDRESS.withName("read_sl"),
                    ADDRESS.withName("read_dlid_path_bits"),
                    ADDRESS.withName("read_completion_ts"),
                    ADDRESS.withName("read_cvlan"),
                    ADDRESS.withName("read_flow_tag"),
                    ADDRESS.withName("read_tm_info"),
                    ADDRESS.withName("read_completion_wallclock_ns"))
            .withName("ibv_cq_ex");

    private ExtendedQueueLayout() {}

    /**
     * Returns where a field is.
     *
     * @param field its name
     * @return bytes from the begin of the struct
     */
    public static long offset(String field) {
        return LAYOUT.byteOffset(PathElement.groupElement(field));
    }
}
