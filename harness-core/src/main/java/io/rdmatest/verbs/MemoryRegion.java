package io.rdmatest.verbs;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.ffi.ibv_mr;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.internal.Errno;
import io.rdmatest.internal.Native;
import io.rdmatest.internal.linux.Numa;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Registered memory that the device reads and writes (ibv_reg_mr(3); IBTA volume 1, section 10.6).
 *
 * <p>The region owns its memory and frees it only after it is deregistered. The JVM checks access through {@link #bytes()}:
 * access outside of the region throws, and so does access after the region is closed. Memory that the caller provides ({@link
 * ProtectionDomain#registerMemory(MemorySegment, Access...)}) still belongs to the caller, and the region does not free it.
 *
 * <p>Close the queue pairs whose peer may use the region before the region. Otherwise, with soft-RoCE, closing the region can
 * wait 50 s. This happens if a packet was being processed when the queue pair went to the error state: the responder then keeps
 * the region until the queue pair is destroyed or reset.
 */
public final class MemoryRegion extends VerbsObject {

    /** SIZE_MAX: with the address 0 it is the whole address space. */
    private static final long WHOLE = -1;

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
        Supplier<String> operands =
                () -> operands(pd, size, access) + (placement.equals(MemoryPlacement.ANYWHERE) ? "" : ", " + placement);
        placement.check();
        return register(
                pd,
                access,
                operands,
                () -> allocate(size, placement, operands),
                (memory, mask) -> register(pd, memory.whole(), memory.size(), memory.address(), mask, operands));
    }

    static MemoryRegion register(ProtectionDomain pd, MemorySegment memory, Access... access) {
        if (!memory.isNative()) {
            throw new IllegalArgumentException("memory on the Java heap can't be registered, as the collector moves it:"
                    + " allocate it from an Arena");
        }
        if (memory.byteSize() < 1) {
            throw new IllegalArgumentException("a memory region has at least 1 byte, not 0");
        }
        if (memory.isReadOnly() && Access.mask(Arrays.asList(access)) != 0) {
            throw new IllegalArgumentException(
                    "read-only memory is registered without access, not with " + Arrays.toString(access));
        }
        if (!memory.scope().isAlive()) {
            throw new IllegalStateException("the memory to register is freed: its arena is closed");
        }
        Supplier<String> operands = () -> operands(pd, memory.byteSize(), access) + ", memory of the caller at 0x"
                + Long.toHexString(memory.address());
        return register(
                pd,
                access,
                operands,
                () -> RegionMemory.ofCaller(memory),
                (whole, mask) -> register(pd, memory, memory.byteSize(), memory.address(), mask, operands));
    }

    static MemoryRegion registerAddressSpace(ProtectionDomain pd, Access... access) {
        Set<Access> all = EnumSet.of(Access.ON_DEMAND, access);
        Access[] complete = all.toArray(Access[]::new);
        Supplier<String> operands =
                () -> pd.describe() + ", the whole address space, access " + Arrays.toString(complete);
        return register(
                pd,
                complete,
                operands,
                RegionMemory::ofAddressSpace,
                (whole, mask) -> register(pd, MemorySegment.NULL, WHOLE, 0, mask, operands));
    }

    static MemoryRegion registerDmaBuf(
            ProtectionDomain pd, int fd, long offset, long size, long address, Access... access) {
        if (fd < 0 || offset < 0 || size < 1) {
            throw new IllegalArgumentException("a dma-buf has a descriptor and an offset of at least 0 and a size of at"
                    + " least 1, not " + fd + ", " + offset + " and " + size);
        }
        Supplier<String> operands =
                () -> operands(pd, size, access) + ", dma-buf of descriptor " + fd + " from " + offset;
        if (!Verbs.REG_DMABUF_MR.isPresent()) {
            throw new RdmaException(
                    "ibv_reg_dmabuf_mr",
                    operands.get(),
                    rdma_h.EOPNOTSUPP(),
                    "The installed libibverbs has no such call: rdma-core 34 or newer is needed.");
        }
        return register(pd, access, operands, () -> RegionMemory.ofDevice(address, size), (whole, mask) -> {
            MemorySegment handle;
            try {
                handle = (MemorySegment) Verbs.REG_DMABUF_MR
                        .handle()
                        .invokeExact(Native.errnoState(), pd.handle, offset, size, address, fd, mask);
            } catch (Throwable e) {
                throw Native.unchecked("ibv_reg_dmabuf_mr", e);
            }
            return Verbs.made(handle, "ibv_reg_dmabuf_mr", operands.get());
        });
    }

    private static String operands(ProtectionDomain pd, long size, Access... access) {
        return pd.describe() + ", " + size + " bytes, access " + Arrays.toString(access);
    }

    /** Registers memory by a call that takes it and the mask of the access. */
    private interface Call {
        MemorySegment register(RegionMemory memory, int mask);
    }

    private static MemoryRegion register(
            ProtectionDomain pd, Access[] access, Supplier<String> operands, Supplier<RegionMemory> source, Call call) {
        int mask = Access.mask(Arrays.asList(access));
        pd.begin();
        try {
            RegionMemory memory = source.get();
            MemorySegment handle;
            boolean registered = false;
            try {
                handle = call.register(memory, mask).reinterpret(ibv_mr.sizeof());
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
            ProtectionDomain pd, MemorySegment memory, long size, long address, int mask, Supplier<String> operands) {
        MemorySegment handle;
        try {
            handle = (MemorySegment)
                    Verbs.REG_MR.handle().invokeExact(Native.errnoState(), pd.handle, memory, size, address, mask);
        } catch (Throwable e) {
            throw Native.unchecked("ibv_reg_mr", e);
        }
        if (handle.address() == 0) {
            int errno = Native.errno();
            if ((mask & Access.ON_DEMAND.bit()) != 0) {
                RdmaException failure = pd.context()
                        .failure(
                                "ibv_reg_mr",
                                operands.get(),
                                errno,
                                size == WHOLE
                                        ? DeviceCapability.IMPLICIT_ON_DEMAND_PAGING
                                        : DeviceCapability.ON_DEMAND_PAGING);
                if (failure.isUnsupported()) {
                    throw failure;
                }
            }
            throw failure(operands.get(), errno);
        }
        return handle;
    }

    /**
     * Deregisters the memory and frees it. If deregistering fails, the memory stays allocated, because the device may still write
     * to it.
     */
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
        boolean ofC = placement.numaNode().isEmpty()
                && placement.hugePage() == 0
                && size <= RegionMemory.MOST_OF_C
                && alignment <= RegionMemory.MOST_OF_C;
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
            boolean huge = placement.hugePage() != 0;
            RegionMemory memory = RegionMemory.of(
                    arena,
                    placement.numaNode().isEmpty() && !huge
                            ? arena.allocate(size, alignment)
                            : Numa.allocate(
                                    arena,
                                    size,
                                    alignment,
                                    huge ? placement.hugePage() : Verbs.PAGE_SIZE,
                                    huge,
                                    placement.numaNode()));
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
            case "EFAULT" ->
                new RdmaException(
                        "ibv_reg_mr",
                        operands,
                        errno,
                        "The pages can't be written: they are read-only, of a file, or huge pages that a NUMA node lacks.");
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
        return address + Objects.checkFromIndexSize(offset, 0, size);
    }

    /** Returns the whole region, as a peer names it. */
    public RemoteMemory remote() {
        return new RemoteMemory(address, rkey, size);
    }

    /** Returns the size in bytes; Long.MAX_VALUE for the whole address space. */
    public long size() {
        return size;
    }

    /** Returns what may be done to the region. */
    public Set<Access> access() {
        return access;
    }

    /** Tells whether the caller has freed the memory. A provider must not read it then. */
    boolean isLost() {
        return memory.isLost();
    }

    /**
     * Tells whether the processor can read the memory, as a provider does for inline data. It can't read the memory of a dma-buf.
     */
    boolean isReadByCpu() {
        return memory.isReadByCpu();
    }

    /** Returns the protection domain. */
    public ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    /**
     * Returns the memory; access throws once the region is closed. If the caller provided the memory, this is the caller's
     * segment.
     *
     * @throws UnsupportedOperationException if the region is of a dma-buf, or of the whole address space
     */
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
     * @throws UnsupportedOperationException if the region is of a dma-buf, or of the whole address space
     */
    public ByteBuffer buffer(long offset, int length) {
        return bytes().asSlice(offset, length).asByteBuffer().order(ByteOrder.nativeOrder());
    }

    /**
     * Sets every byte.
     *
     * @param value the value
     * @throws UnsupportedOperationException if the region is of a dma-buf, or of the whole address space
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
        try {
            Verbs.destroy(Verbs.DEREG_MR, this::describe, handle);
        } catch (RdmaException e) {
            throw access.contains(Access.MEMORY_WINDOW_BIND) ? stillBound(e) : e;
        }
        try {
            memory.free();
        } catch (IllegalStateException e) {
            // Another native call still uses the memory: a leak is better than freeing it under that call.
            LOG.log(System.Logger.Level.WARNING, "the memory of " + describe() + " stays allocated: it is in use", e);
        }
    }

    private RdmaException stillBound(RdmaException failure) {
        return switch (failure.errnoName()) {
            case "EBUSY", "EINVAL" -> {
                RdmaException explained = new RdmaException(
                        "ibv_dereg_mr",
                        describe(),
                        failure.errno(),
                        "A memory window is bound to it: close or invalidate its windows first.");
                explained.initCause(failure);
                yield explained;
            }
            default -> failure;
        };
    }

    @Override
    public String describe() {
        return "mr " + deviceName() + "/0x" + Integer.toHexString(lkey);
    }
}
