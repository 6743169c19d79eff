package io.rdmatest.verbs;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.ffi.ibv_mr;
import io.rdmatest.internal.Errno;
import io.rdmatest.internal.Native;
import io.rdmatest.internal.Numa;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Collections;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Registered memory that the device reads and writes (ibv_reg_mr(3); IBTA volume 1, section 10.6).
 *
 * <p>The region owns its memory and frees it only after the device let go of it. Access through {@link #bytes()} is
 * checked by the JVM: outside of the region it throws, and so it does after the region is closed.
 *
 * <p>Queue pairs whose peer may use the region are to be closed before it. With soft-RoCE the close of the region else waits 50 s
 * where a packet was being worked on when the queue pair went to the error state: the responder keeps the region then until the
 * queue pair is destroyed or reset.
 */
public final class MemoryRegion extends VerbsObject {

    private static final System.Logger LOG = System.getLogger(MemoryRegion.class.getName());

    private final ProtectionDomain protectionDomain;
    private final RegionMemory memory;
    private final long address;
    private final long size;
    private final Set<Access> access;
    private final int lkey;
    private final int rkey;

    private MemoryRegion(ProtectionDomain protectionDomain, MemorySegment handle, RegionMemory memory, int access) {
        this.protectionDomain = protectionDomain;
        this.memory = memory;
        this.address = memory.address();
        this.size = memory.size();
        this.access = Collections.unmodifiableSet(Access.ofMask(access));
        this.lkey = ibv_mr.lkey(handle);
        this.rkey = ibv_mr.rkey(handle);
        super("mr", handle, protectionDomain.deviceName(), protectionDomain);
    }

    static MemoryRegion register(ProtectionDomain pd, long size, MemoryPlacement placement, Access... access) {
        if (size < 1) {
            throw new IllegalArgumentException("a memory region has at least 1 byte, not " + size);
        }
        int mask = Access.mask(Arrays.asList(access));
        Supplier<String> operands = () -> pd.describe() + ", " + size + " bytes, access " + Arrays.toString(access)
                + (placement.equals(MemoryPlacement.ANYWHERE) ? "" : ", " + placement);
        placement.check();
        pd.begin();
        try {
            RegionMemory memory = allocate(size, placement, operands);
            MemorySegment handle;
            boolean registered = false;
            try {
                handle = register(pd, memory, mask, operands);
                registered = true;
            } finally {
                if (!registered) {
                    memory.free();
                }
            }
            try {
                return new MemoryRegion(pd, handle, memory, mask);
            } catch (IllegalStateException e) {
                deregister(handle, memory, operands);
                throw e;
            }
        } finally {
            pd.end();
        }
    }

    private static MemorySegment register(
            ProtectionDomain pd, RegionMemory memory, int mask, Supplier<String> operands) {
        MemorySegment handle;
        try {
            handle = (MemorySegment) Verbs.REG_MR
                    .handle()
                    .invokeExact(Native.errnoState(), pd.handle, memory.whole(), memory.size(), memory.address(), mask);
        } catch (Throwable e) {
            throw Native.unchecked("ibv_reg_mr", e);
        }
        if (handle.address() == 0) {
            int errno = Native.errno();
            throw failure(operands.get(), errno);
        }
        return handle.reinterpret(ibv_mr.sizeof());
    }

    /** Memory that the device may still write to is better lost than given back. */
    private static void deregister(MemorySegment handle, RegionMemory memory, Supplier<String> operands) {
        try {
            Verbs.destroy(Verbs.DEREG_MR, operands, handle);
        } catch (RdmaException e) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    "memory stays allocated: it is still registered: " + operands.get(),
                    e);
            return;
        }
        memory.free();
    }

    private static RegionMemory allocate(long size, MemoryPlacement placement, Supplier<String> operands) {
        long alignment = placement.alignment() == 0 ? Verbs.PAGE_SIZE : placement.alignment();
        boolean ofC =
                placement.numaNode().isEmpty() && size <= RegionMemory.MOST_OF_C && alignment <= RegionMemory.MOST_OF_C;
        try {
            return ofC ? RegionMemory.ofC(size, Math.max(alignment, Long.BYTES)) : ofArena(size, alignment, placement);
        } catch (OutOfMemoryError e) {
            String cure = ofC ? "free memory of the host" : "raise -XX:MaxDirectMemorySize of the JVM";
            RdmaException failure = new RdmaException(
                    Cause.OUT_OF_MEMORY,
                    "there is no memory for ibv_reg_mr(" + operands.get() + "): " + cure + " (" + e.getMessage() + ")");
            failure.initCause(e);
            throw failure;
        }
    }

    private static RegionMemory ofArena(long size, long alignment, MemoryPlacement placement) {
        Arena arena = Arena.ofShared();
        boolean allocated = false;
        try {
            RegionMemory memory = RegionMemory.of(
                    arena,
                    placement.numaNode().isEmpty()
                            ? arena.allocate(size, alignment)
                            : Numa.allocate(
                                    arena,
                                    size,
                                    alignment,
                                    Verbs.PAGE_SIZE,
                                    placement.numaNode().getAsInt()));
            allocated = true;
            return memory;
        } finally {
            if (!allocated) {
                arena.close();
            }
        }
    }

    private static RdmaException failure(String operands, int errno) {
        return switch (Errno.name(errno)) {
            case "ENOMEM" ->
                new RdmaException(
                        "ibv_reg_mr",
                        operands,
                        errno,
                        "The limit of locked memory is " + Verbs.memlockLimit()
                                + ": raise it with 'ulimit -l unlimited' or memlock in limits.conf, or register less.");
            case "EINVAL" ->
                new RdmaException(
                        "ibv_reg_mr",
                        operands,
                        errno,
                        "REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE too; the size must be within the device's"
                                + " maxMrSize.");
            default -> new RdmaException("ibv_reg_mr", operands, errno);
        };
    }

    /** Returns the key for local use. */
    public int lkey() {
        return lkey;
    }

    /** Returns the key that a peer needs for remote access. */
    public int rkey() {
        return rkey;
    }

    /** Returns the address of the first byte, as a peer names it. */
    public long address() {
        return address;
    }

    /**
     * Returns the address of a byte, as a peer names it.
     *
     * @param offset from 0 to the size
     * @throws IndexOutOfBoundsException outside of the region
     */
    public long address(long offset) {
        return address + Objects.checkIndex(offset, size + 1);
    }

    /** Returns the size in bytes. */
    public long size() {
        return size;
    }

    /** Returns what may be done to the region. */
    public Set<Access> access() {
        return access;
    }

    /** Returns the protection domain. */
    public ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    /** Returns the memory; access throws once the region is closed. */
    public MemorySegment bytes() {
        return memory.bytes();
    }

    /**
     * Returns a part of the memory as a buffer of native byte order.
     *
     * @param offset where it begins
     * @param length bytes
     * @return the buffer; access throws once the region is closed
     * @throws IndexOutOfBoundsException outside of the region
     */
    public ByteBuffer buffer(long offset, int length) {
        return memory.bytes().asSlice(offset, length).asByteBuffer().order(ByteOrder.nativeOrder());
    }

    /**
     * Sets every byte.
     *
     * @param value the value
     */
    public void fill(byte value) {
        begin();
        try {
            MemorySegment ignored = memory.whole().fill(value);
        } finally {
            end();
        }
    }

    @Override
    protected void release() {
        Verbs.destroy(Verbs.DEREG_MR, this::describe, handle);
        try {
            memory.free();
        } catch (IllegalStateException e) {
            // Somebody holds the memory in a native call of their own: better lost than torn away.
            LOG.log(System.Logger.Level.WARNING, "the memory of " + describe() + " stays allocated: it is in use", e);
        }
    }

    @Override
    public String describe() {
        return "mr " + deviceName() + "/0x" + Integer.toHexString(lkey);
    }
}
