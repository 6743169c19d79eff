package io.rdmatest.verbs;

import static io.rdmatest.internal.CMemory.ALL;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.rdmatest.ffi.ibv_poll_cq_attr;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.internal.ExtendedQueueLayout;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Polls an extended completion queue with ibv_start_poll, ibv_next_poll, ibv_end_poll and the ibv_wc_read_… functions
 * (ibv_create_cq_ex(3)).
 *
 * <p>The provider holds a spin lock from ibv_start_poll to ibv_end_poll. Between these calls the thread runs Java code, in which
 * the JVM may stop it. So no call on such a queue is critical: the JVM could not stop a thread that spins in a critical call. A
 * post to a queue pair that completes on such a queue is not critical either. mlx4 and mlx5 take the lock of the completion queue
 * when they find the queue pair's own queue full. Polling threads of this JVM wait for each other on a Java lock.
 */
final class ExtendedPoll {

    private static final MethodHandle START = handle(JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle NEXT = handle(JAVA_INT, JAVA_LONG);
    private static final MethodHandle END = Linker.nativeLinker().downcallHandle(FunctionDescriptor.ofVoid(JAVA_LONG));
    private static final MethodHandle READ_INT = NEXT;
    private static final MethodHandle READ_BYTE = handle(JAVA_BYTE, JAVA_LONG);
    private static final MethodHandle READ_LONG = handle(JAVA_LONG, JAVA_LONG);

    private static final long STATUS = ExtendedQueueLayout.offset("status");
    private static final long WR_ID = ExtendedQueueLayout.offset("wr_id");

    private static final int NO_IMMEDIATE_OR_KEY = 1;

    private final ReentrantLock lock = new ReentrantLock();
    private final long queue;
    /** The provider only reads it, and only during a call. So the garbage collector may free it. */
    private final MemorySegment attributes = ibv_poll_cq_attr.allocate(Arena.ofAuto());

    private final MemorySegment start;
    private final MemorySegment next;
    private final MemorySegment end;
    private final MemorySegment opcode;
    private final MemorySegment vendorError;
    private final MemorySegment byteLength;
    private final MemorySegment immediate;
    private final MemorySegment qpNumber;
    private final MemorySegment sourceQp;
    private final MemorySegment flags;
    private final MemorySegment sourceLid;
    private final MemorySegment serviceLevel;
    private final MemorySegment pathBits;
    private final MemorySegment timestamp;
    private final boolean timed;
    /** An error that followed completions of the same poll. The next poll returns it. 0 if there is none. Guarded by the lock. */
    private int unreported;

    /** Takes a queue that was created with the standard flags, or with all of them except the flags for LIDs. */
    ExtendedPoll(MemorySegment queue, CompletionTimestamp timestamps) {
        this.queue = queue.address();
        this.start = function("start_poll");
        this.next = function("next_poll");
        this.end = function("end_poll");
        this.opcode = function("read_opcode");
        this.vendorError = function("read_vendor_err");
        this.byteLength = function("read_byte_len");
        this.immediate = function("read_imm_data");
        this.qpNumber = function("read_qp_num");
        this.sourceQp = function("read_src_qp");
        this.flags = function("read_wc_flags");
        this.sourceLid = function("read_slid");
        this.serviceLevel = function("read_sl");
        this.pathBits = function("read_dlid_path_bits");
        this.timed = timestamps != CompletionTimestamp.NONE;
        this.timestamp = function(
                timestamps == CompletionTimestamp.WALL_CLOCK ? "read_completion_wallclock_ns" : "read_completion_ts");
    }

    private static MethodHandle handle(MemoryLayout result, MemoryLayout... arguments) {
        return Linker.nativeLinker().downcallHandle(FunctionDescriptor.of(result, arguments));
    }

    private MemorySegment function(String field) {
        return ALL.get(ADDRESS, queue + ExtendedQueueLayout.offset(field));
    }

    /**
     * Polls the queue.
     *
     * @return the number of completions in the array, from 0. If there is an error and no completion, the errno as a negative
     *     number, or the provider's own negative number
     */
    int poll(Completions into, int most) throws Throwable {
        lock.lock();
        try {
            if (unreported != 0) {
                int error = unreported;
                unreported = 0;
                into.count(0);
                return error;
            }
            int result = (int) START.invokeExact(start, queue, attributes.address());
            int polled = 0;
            if (result == 0) {
                try {
                    long[] stamps = timed ? into.timestamps() : null;
                    while (result == 0 && polled < most) {
                        read(into.address() + polled * Completions.SIZE);
                        if (stamps != null) {
                            stamps[polled] = (long) READ_LONG.invokeExact(timestamp, queue);
                        }
                        polled++;
                        result = polled < most ? (int) NEXT.invokeExact(next, queue) : 0;
                    }
                } finally {
                    END.invokeExact(end, queue);
                }
            }
            into.count(polled, timed);
            // ENOENT means that the queue is empty. EBUSY means that the kernel is just setting the wall clock: the
            // completion stays
            // in the queue for the next poll (ibv_create_cq_ex(3)). The -2 of mlx5 is an error, but not an errno.
            int error = result == rdma_h.ENOENT() || result == rdma_h.EBUSY() ? 0 : -Math.abs(result);
            if (polled == 0) {
                return error;
            }
            unreported = error;
            return polled;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Reads one completion. After a failure only the identifier, the status, the queue pair and the device's code are defined.
     */
    private void read(long at) throws Throwable {
        int status = ALL.get(JAVA_INT, queue + STATUS);
        ALL.set(JAVA_LONG, at + Completions.WR_ID, ALL.get(JAVA_LONG, queue + WR_ID));
        ALL.set(JAVA_INT, at + Completions.STATUS, status);
        ALL.set(JAVA_INT, at + Completions.VENDOR_ERROR, (int) READ_INT.invokeExact(vendorError, queue));
        ALL.set(JAVA_INT, at + Completions.QP_NUMBER, (int) READ_INT.invokeExact(qpNumber, queue));
        ALL.set(JAVA_SHORT, at + Completions.PKEY_INDEX, (short) 0);
        boolean succeeded = status == 0;
        int bits = succeeded ? (int) READ_INT.invokeExact(flags, queue) : 0;
        ALL.set(JAVA_INT, at + Completions.FLAGS, bits);
        ALL.set(JAVA_INT, at + Completions.OPCODE, succeeded ? (int) READ_INT.invokeExact(opcode, queue) : 0);
        ALL.set(JAVA_INT, at + Completions.BYTE_LENGTH, succeeded ? (int) READ_INT.invokeExact(byteLength, queue) : 0);
        // Any other flag may mean that there is immediate data or a key: devices differ.
        boolean hasImmediate = (bits & ~NO_IMMEDIATE_OR_KEY) != 0;
        ALL.set(JAVA_INT, at + Completions.IMMEDIATE, hasImmediate ? (int) READ_INT.invokeExact(immediate, queue) : 0);
        ALL.set(JAVA_INT, at + Completions.SOURCE_QP, succeeded ? (int) READ_INT.invokeExact(sourceQp, queue) : 0);
        // A queue without the flags for LIDs does not have all of these functions.
        int lid = succeeded && sourceLid.address() != 0 ? (int) READ_INT.invokeExact(sourceLid, queue) : 0;
        ALL.set(JAVA_SHORT, at + Completions.SOURCE_LID, (short) lid);
        byte level = succeeded && serviceLevel.address() != 0 ? (byte) READ_BYTE.invokeExact(serviceLevel, queue) : 0;
        ALL.set(JAVA_BYTE, at + Completions.SERVICE_LEVEL, level);
        byte path = succeeded && pathBits.address() != 0 ? (byte) READ_BYTE.invokeExact(pathBits, queue) : 0;
        ALL.set(JAVA_BYTE, at + Completions.PATH_BITS, path);
    }
}
