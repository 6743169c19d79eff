package io.rdmatest.verbs;

import io.rdmatest.ffi.ibv_ah_attr;
import io.rdmatest.ffi.ibv_grh;
import io.rdmatest.ffi.ibv_pd;
import io.rdmatest.ffi.ibv_wc;
import io.rdmatest.internal.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** A protection domain: the objects built on it can be used together (ibv_alloc_pd(3); IBTA volume 1, section 10.2.3). */
public final class ProtectionDomain extends VerbsObject {

    private final DeviceContext context;
    private final int number;

    private ProtectionDomain(DeviceContext context, MemorySegment handle) {
        this.context = context;
        this.number = ibv_pd.handle(handle);
        super("pd", handle, context.deviceName(), context);
    }

    static ProtectionDomain allocate(DeviceContext context) {
        context.begin();
        try {
            MemorySegment handle = Verbs.create(Verbs.ALLOC_PD, context.deviceName(), context.handle)
                    .reinterpret(ibv_pd.sizeof());
            try {
                return new ProtectionDomain(context, handle);
            } catch (IllegalStateException e) {
                Verbs.destroy(Verbs.DEALLOC_PD, context.deviceName(), handle);
                throw e;
            }
        } finally {
            context.end();
        }
    }

    /** Returns the device. */
    public DeviceContext context() {
        return context;
    }

    /**
     * Allocates zeroed memory on page boundaries and registers it (ibv_reg_mr(3)).
     *
     * @param size bytes, from 1
     * @param access what may be done to it; remote writes and atomics need {@link Access#LOCAL_WRITE} too
     * @return the memory region
     * @throws io.rdmatest.RdmaException if the device or the limit of locked memory refuses it; the message says which
     *     limit holds
     */
    public MemoryRegion registerMemory(long size, Access... access) {
        return MemoryRegion.register(this, size, MemoryPlacement.ANYWHERE, access);
    }

    /**
     * Allocates zeroed memory with a given placement and registers it (ibv_reg_mr(3), mbind(2)).
     *
     * @param size bytes, from 1
     * @param placement the boundary, the NUMA node and the size of the pages
     * @param access what may be done to it; remote writes and atomics need {@link Access#LOCAL_WRITE} too
     * @return the memory region
     * @throws io.rdmatest.RdmaException if the NUMA node does not exist or is not allowed, or if the device or the limit of
     *     locked memory refuses the memory
     */
    public MemoryRegion registerMemory(long size, MemoryPlacement placement, Access... access) {
        return MemoryRegion.register(this, size, placement, access);
    }

    /**
     * Registers memory that the caller provides (ibv_reg_mr(3)): of an {@link Arena}, of a mapped file or of another library.
     *
     * <p>The caller must keep the memory allocated until the region is closed. Until then the device reads and writes it, even
     * after its arena is closed. The region keeps the segment reachable, so memory of an automatic arena stays allocated.
     *
     * @param memory native memory, from 1 byte; it may begin anywhere in a page
     * @param access what may be done to it; remote writes and atomics need {@link Access#LOCAL_WRITE} too. Read-only memory must
     *     have no access: it can only be sent from.
     * @return the memory region; its {@link MemoryRegion#bytes()} are this segment
     * @throws IllegalArgumentException if the memory is on the Java heap or empty, or if it is read-only and {@code access} is
     *     not empty
     * @throws IllegalStateException if its arena is closed
     * @throws io.rdmatest.RdmaException if the device or the limit of locked memory refuses it; the exception is {@linkplain
     *     io.rdmatest.RdmaException#isUnsupported() unsupported} for {@link Access#ON_DEMAND} on a device without paging
     */
    public MemoryRegion registerMemory(MemorySegment memory, Access... access) {
        return MemoryRegion.register(this, memory, access);
    }

    /**
     * Registers the whole address space of this process, paged on demand: implicit ODP (ibv_reg_mr(3), address 0 and length
     * SIZE_MAX). The offset in such a region is an address: {@code postSend(id, region, segment.address(), length)}.
     *
     * <p>The region includes the JVM's own memory. A peer that gets the key of a region with remote access reaches all of it.
     *
     * @param access what may be done to it; {@link Access#ON_DEMAND} is added
     * @return the memory region; it has no {@link MemoryRegion#bytes()}
     * @throws io.rdmatest.RdmaException if the device refuses it; the exception is {@linkplain
     *     io.rdmatest.RdmaException#isUnsupported() unsupported} if the device lacks {@link
     *     DeviceCapability#IMPLICIT_ON_DEMAND_PAGING}
     */
    public MemoryRegion registerAddressSpace(Access... access) {
        return MemoryRegion.registerAddressSpace(this, access);
    }

    /**
     * Registers memory that a dma-buf stands for, for example the memory of a graphics card (ibv_reg_dmabuf_mr(3)).
     *
     * @param fd the descriptor of the dma-buf; it may be closed when the region is registered
     * @param offset where the memory begins in the dma-buf, in bytes from 0
     * @param size bytes, from 1
     * @param address the address of the first byte in requests and for peers; its offset in a page must be that of {@code offset}
     * @param access what may be done to it; remote writes and atomics need {@link Access#LOCAL_WRITE} too
     * @return the memory region; it has no {@link MemoryRegion#bytes()}, and can't be sent from with {@link SendFlag#INLINE}
     * @throws io.rdmatest.RdmaException if the descriptor is not a dma-buf, or the device refuses it; the exception is
     *     {@linkplain io.rdmatest.RdmaException#isUnsupported() unsupported} if the device or the kernel does not support
     *     dma-bufs
     */
    public MemoryRegion registerDmaBuf(int fd, long offset, long size, long address, Access... access) {
        return MemoryRegion.registerDmaBuf(this, fd, offset, size, address, access);
    }

    /**
     * Allocates a memory window (ibv_alloc_mw(3)). {@link QueuePair#postBind} binds it to memory.
     *
     * @param type how it is bound and unbound
     * @return the window, not bound
     * @throws io.rdmatest.RdmaException if the device refuses it; the exception is {@linkplain
     *     io.rdmatest.RdmaException#isUnsupported() unsupported} if the device lacks {@link DeviceCapability#MEMORY_WINDOWS} or
     *     {@link DeviceCapability#MEMORY_WINDOWS_TYPE_2}
     */
    public MemoryWindow allocateMemoryWindow(MemoryWindow.Type type) {
        return MemoryWindow.allocate(this, type);
    }

    /**
     * Creates a queue pair in the state RESET (ibv_create_qp(3)).
     *
     * @param attributes type, queues and capacities
     * @return the queue pair
     */
    public QueuePair createQueuePair(QueuePairAttributes attributes) {
        return QueuePair.create(this, attributes);
    }

    /**
     * Creates a shared receive queue (ibv_create_srq(3)).
     *
     * @param maxWr outstanding receives, from 1
     * @param maxSge scatter elements of a receive, from 1
     * @return the queue; its capacities may be larger
     */
    public SharedReceiveQueue createSharedReceiveQueue(int maxWr, int maxSge) {
        return SharedReceiveQueue.create(this, maxWr, maxSge);
    }

    /**
     * Creates a shared receive queue for messages of extended reliable connections (ibv_create_srq_ex(3), IBV_SRQT_XRC).
     *
     * @param domain the domain of the connections
     * @param queue where its receives complete
     * @param maxWr outstanding receives, from 1
     * @param maxSge scatter elements of a receive, from 1
     * @return the queue; {@link SharedReceiveQueue#xrcNumber()} is what senders name
     * @throws IllegalArgumentException if the objects are not of one device
     */
    public SharedReceiveQueue createSharedReceiveQueue(XrcDomain domain, CompletionQueue queue, int maxWr, int maxSge) {
        return SharedReceiveQueue.create(this, domain, queue, maxWr, maxSge);
    }

    /**
     * Creates an address handle (ibv_create_ah(3)).
     *
     * @param attributes the destination
     * @return the address handle
     */
    public AddressHandle createAddressHandle(AddressHandleAttributes attributes) {
        String operands = describe() + ", " + attributes;
        begin();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attr = ibv_ah_attr.allocate(arena);
            Structs.addressHandle(attr, attributes);
            MemorySegment handle = Verbs.create(Verbs.CREATE_AH, operands, this.handle, attr);
            return AddressHandle.wrap(this, handle);
        } finally {
            end();
        }
    }

    /**
     * Creates an address handle back to the sender of a received datagram (ibv_create_ah_from_wc(3)).
     *
     * @param completion the receive's completion
     * @param buffer the memory that it was received into
     * @param offset where the receive buffer begins: its first 40 bytes hold the global route header
     * @param port the local port, from 1
     * @return the address handle
     * @throws IllegalArgumentException if the completion is a failure
     * @throws IndexOutOfBoundsException if the header is not inside of the memory region
     */
    public AddressHandle createAddressHandle(WorkCompletion completion, MemoryRegion buffer, long offset, int port) {
        if (!completion.isSuccess()) {
            throw new IllegalArgumentException("a failed completion has no sender: " + completion.status());
        }
        DeviceContext.checkPort(port);
        String operands = describe() + ", completion " + completion.wrId() + ", port " + port;
        begin();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment grh = arena.allocate(ibv_grh.sizeof(), 8);
            grh.copyFrom(buffer.bytes().asSlice(offset, ibv_grh.sizeof()));
            MemorySegment wc = ibv_wc.allocate(arena);
            ibv_wc.status(wc, completion.statusCode());
            ibv_wc.opcode(wc, completion.opcodeCode());
            ibv_wc.byte_len(wc, completion.byteLength());
            ibv_wc.qp_num(wc, completion.qpNumber());
            ibv_wc.src_qp(wc, completion.sourceQp());
            ibv_wc.wc_flags(wc, completion.flags());
            ibv_wc.slid(wc, (short) completion.sourceLid());
            ibv_wc.sl(wc, (byte) completion.serviceLevel());
            ibv_wc.dlid_path_bits(wc, (byte) completion.pathBits());
            MemorySegment handle = (MemorySegment)
                    Verbs.CREATE_AH_FROM_WC.handle().invokeExact(Native.errnoState(), this.handle, wc, grh, (byte)
                            port);
            return AddressHandle.wrap(this, Verbs.made(handle, "ibv_create_ah_from_wc", operands));
        } catch (Throwable e) {
            throw Native.unchecked("ibv_create_ah_from_wc", e);
        } finally {
            end();
        }
    }

    @Override
    protected void release() {
        Verbs.destroy(Verbs.DEALLOC_PD, this::describe, handle);
    }

    @Override
    public String describe() {
        return "pd " + deviceName() + "/" + number;
    }
}
