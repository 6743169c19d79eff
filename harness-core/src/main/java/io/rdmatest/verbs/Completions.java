package io.rdmatest.verbs;

import io.rdmatest.ffi.ibv_wc;
import io.rdmatest.internal.CMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A native array of work completions. {@link CompletionQueue#poll} fills it, and callers read it in place, without allocation.
 * Only one thread may use it at a time.
 */
public final class Completions {

    static final long SIZE = ibv_wc.sizeof();
    static final long WR_ID = ibv_wc.wr_id$offset();
    static final long STATUS = ibv_wc.status$offset();
    static final long OPCODE = ibv_wc.opcode$offset();
    static final long VENDOR_ERROR = ibv_wc.vendor_err$offset();
    static final long BYTE_LENGTH = ibv_wc.byte_len$offset();
    static final long IMMEDIATE = ibv_wc.imm_data$offset();
    static final long QP_NUMBER = ibv_wc.qp_num$offset();
    static final long SOURCE_QP = ibv_wc.src_qp$offset();
    static final long FLAGS = ibv_wc.wc_flags$offset();
    static final long SOURCE_LID = ibv_wc.slid$offset();
    static final long SERVICE_LEVEL = ibv_wc.sl$offset();
    static final long PATH_BITS = ibv_wc.dlid_path_bits$offset();
    static final long PKEY_INDEX = ibv_wc.pkey_index$offset();
    private static final int WITH_GRH = 1;
    private static final int WITH_IMMEDIATE = 1 << 1;
    private static final int INVALIDATE_OF_KERNEL = 1 << 2;
    private static final int WITH_INVALIDATE = WorkCompletion.WITH_INVALIDATE;

    private final int capacity;
    /** Keeps the memory, as long as this object is reachable. */
    private final MemorySegment array;

    private final long address;
    private int count;
    private boolean timed;
    /** Null until the first poll of a queue with timestamps. */
    private long @Nullable [] timestamps;

    Completions(int capacity) {
        if (capacity < 1) {
            throw new IllegalArgumentException("the capacity must be at least 1, not " + capacity);
        }
        this.capacity = capacity;
        // The device never writes here, because ibv_poll_cq copies on the calling thread. So the garbage collector
        // may free it.
        this.array = Arena.ofAuto().allocate(SIZE * capacity, 8);
        this.address = array.address();
    }

    /** Returns the address of the array. It is valid as long as this object is reachable. */
    long address() {
        return address;
    }

    void count(int polled) {
        count = polled;
        timed = false;
    }

    void count(int polled, boolean withTimestamps) {
        count = polled;
        timed = withTimestamps;
    }

    /**
     * Replaces the kernel's IB_WC_WITH_INVALIDATE by IBV_WC_WITH_INV. In user space the kernel's bit means IBV_WC_IP_CSUM_OK.
     * That flag is for raw packets, which soft-RoCE does not have.
     */
    void mendFlags() {
        for (int i = 0; i < count; i++) {
            long at = address + i * SIZE + FLAGS;
            int bits = CMemory.ALL.get(ValueLayout.JAVA_INT, at);
            if ((bits & INVALIDATE_OF_KERNEL) != 0) {
                CMemory.ALL.set(ValueLayout.JAVA_INT, at, bits & ~INVALIDATE_OF_KERNEL | WITH_INVALIDATE);
            }
        }
    }

    /** Returns the array that a poll stores timestamps in. */
    long[] timestamps() {
        long[] made = timestamps;
        if (made == null) {
            made = new long[capacity];
            timestamps = made;
        }
        return made;
    }

    /** Tells whether the last poll was of a queue with timestamps. */
    public boolean hasTimestamps() {
        return timed;
    }

    /**
     * Returns when the device completed the request, by the clock of the queue.
     *
     * @param index from 0 to {@link #count()} - 1
     * @return ticks or nanoseconds, see {@link CompletionTimestamp}
     * @throws IllegalStateException if the last poll was of a queue without timestamps
     */
    public long timestamp(int index) {
        long[] its = timestamps;
        if (!timed || its == null) {
            throw new IllegalStateException("the completions are of a queue without timestamps");
        }
        return its[Objects.checkIndex(index, count)];
    }

    /** Returns how many completions one poll can bring. */
    public int capacity() {
        return capacity;
    }

    /** Returns how many completions the last poll brought. */
    public int count() {
        return count;
    }

    private int number(int index, long field) {
        int number = CMemory.ALL.get(ValueLayout.JAVA_INT, address + Objects.checkIndex(index, count) * SIZE + field);
        Reference.reachabilityFence(this);
        return number;
    }

    /**
     * Returns the identifier that the request was posted with.
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public long wrId(int index) {
        long id = CMemory.ALL.get(ValueLayout.JAVA_LONG, address + Objects.checkIndex(index, count) * SIZE + WR_ID);
        Reference.reachabilityFence(this);
        return id;
    }

    /**
     * Returns how the request ended.
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public WorkCompletion.Status status(int index) {
        return WorkCompletion.Status.of(statusCode(index));
    }

    /**
     * Returns the status as a number; 0 is success.
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public int statusCode(int index) {
        return number(index, STATUS);
    }

    /**
     * Tells whether the request succeeded.
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public boolean isSuccess(int index) {
        return statusCode(index) == 0;
    }

    /**
     * Returns which operation completed.
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public WorkCompletion.Opcode opcode(int index) {
        return WorkCompletion.Opcode.of(opcodeCode(index));
    }

    /**
     * Returns the operation as a number.
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public int opcodeCode(int index) {
        return number(index, OPCODE);
    }

    /**
     * Returns the device's own error code.
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public int vendorError(int index) {
        return number(index, VENDOR_ERROR);
    }

    /**
     * Returns the bytes transferred, for a receive.
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public int byteLength(int index) {
        return number(index, BYTE_LENGTH);
    }

    /**
     * Returns the immediate data in host order; meaningless unless {@link #hasImmediate}.
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public int immediate(int index) {
        return Verbs.network(number(index, IMMEDIATE));
    }

    /**
     * Returns the local queue pair's number.
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public int qpNumber(int index) {
        return number(index, QP_NUMBER);
    }

    /**
     * Returns the remote queue pair's number; UD only.
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public int sourceQp(int index) {
        return number(index, SOURCE_QP);
    }

    /**
     * Returns the IBV_WC_* bits.
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public int flags(int index) {
        return number(index, FLAGS);
    }

    /**
     * Tells whether the buffer begins with a global route header; UD only.
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public boolean hasGrh(int index) {
        return (flags(index) & WITH_GRH) != 0;
    }

    /**
     * Tells whether immediate data came with the message.
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public boolean hasImmediate(int index) {
        return (flags(index) & WITH_IMMEDIATE) != 0;
    }

    /**
     * Tells whether the message invalidated a key of this side's memory.
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public boolean hasInvalidatedKey(int index) {
        return (flags(index) & WITH_INVALIDATE) != 0;
    }

    /**
     * Returns the key that the message invalidated; meaningless unless {@link #hasInvalidatedKey}.
     *
     * @param index from 0 to {@link #count()} - 1
     */
    public int invalidatedKey(int index) {
        return number(index, IMMEDIATE);
    }

    /**
     * Copies one completion out of the array.
     *
     * @param index from 0 to {@link #count()} - 1
     * @return a record that outlives the next poll
     */
    public WorkCompletion get(int index) {
        long at = address + Objects.checkIndex(index, count) * SIZE;
        MemorySegment all = CMemory.ALL;
        int status = all.get(ValueLayout.JAVA_INT, at + STATUS);
        int opcode = all.get(ValueLayout.JAVA_INT, at + OPCODE);
        int flags = all.get(ValueLayout.JAVA_INT, at + FLAGS);
        boolean immediate = (flags & WITH_IMMEDIATE) != 0;
        WorkCompletion completion = new WorkCompletion(
                all.get(ValueLayout.JAVA_LONG, at + WR_ID),
                WorkCompletion.Status.of(status),
                WorkCompletion.Opcode.of(opcode),
                all.get(ValueLayout.JAVA_INT, at + VENDOR_ERROR),
                all.get(ValueLayout.JAVA_INT, at + BYTE_LENGTH),
                immediate ? Verbs.network(all.get(ValueLayout.JAVA_INT, at + IMMEDIATE)) : 0,
                all.get(ValueLayout.JAVA_INT, at + QP_NUMBER),
                all.get(ValueLayout.JAVA_INT, at + SOURCE_QP),
                (flags & WITH_GRH) != 0,
                immediate,
                status,
                opcode,
                flags,
                all.get(ValueLayout.JAVA_SHORT, at + SOURCE_LID) & 0xffff,
                all.get(ValueLayout.JAVA_BYTE, at + SERVICE_LEVEL) & 0xff,
                all.get(ValueLayout.JAVA_BYTE, at + PATH_BITS) & 0xff,
                all.get(ValueLayout.JAVA_SHORT, at + PKEY_INDEX) & 0xffff,
                (flags & WITH_INVALIDATE) != 0 ? all.get(ValueLayout.JAVA_INT, at + IMMEDIATE) : 0);
        Reference.reachabilityFence(this);
        return completion;
    }
}
