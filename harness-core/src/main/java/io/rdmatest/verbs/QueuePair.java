package io.rdmatest.verbs;

import io.rdmatest.Deadline;
import io.rdmatest.NativeResource;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.ffi.ibv_context;
import io.rdmatest.ffi.ibv_context_ops;
import io.rdmatest.ffi.ibv_ece;
import io.rdmatest.ffi.ibv_gid;
import io.rdmatest.ffi.ibv_mw_bind;
import io.rdmatest.ffi.ibv_mw_bind_info;
import io.rdmatest.ffi.ibv_qp;
import io.rdmatest.ffi.ibv_qp_attr;
import io.rdmatest.ffi.ibv_qp_cap;
import io.rdmatest.ffi.ibv_qp_init_attr;
import io.rdmatest.ffi.ibv_qp_init_attr_ex;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.ffi.verbs_context;
import io.rdmatest.internal.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A queue pair (ibv_create_qp(3); IBTA volume 1, section 10.2.4).
 *
 * <p>The {@code post…} methods with operands post one request each; {@link #post(SendRequests)} posts prepared lists
 * with one downcall and no allocation. A send gives a completion on success only if it is {@link SendFlag#SIGNALED} or
 * the queue pair signals all; a failed one always does.
 */
public final class QueuePair extends VerbsObject {

    private static final int EINVAL = 22;

    /** After this time without a completion, {@link #drain} assumes that none is left, where nothing else tells. */
    private static final long QUIET_NANOS = 100_000_000;

    private final ProtectionDomain protectionDomain;
    private final QueuePairAttributes attributes;
    private final DeviceContext context;
    private final boolean datagram;
    private final boolean sharesQueue;
    /** Whether posts may be critical. They may not if the provider takes the lock that a poll holds while it runs Java code. */
    final boolean postsInUserSpace;

    private final Consumer<MemorySegment> destroy;
    private final int number;
    private volatile boolean counted;
    private final int maxSendWr;
    private final int maxReceiveWr;
    private final int maxInline;
    /** The multicast groups that the queue pair is attached to. A member of a group can't be destroyed. */
    private final Set<Group> groups;

    private final SendRequests singleSend;
    private final ReceiveRequests singleReceive;
    private final WorkCounts counts;

    /** How many failed completions of all devices were taken before the queue pair was made. */
    private final long failuresBefore;

    /** Whether the last change of state that the program asked for leads to ERR. */
    private volatile boolean errorIntended;

    private record Group(Gid gid, int lid) {}

    private QueuePair(
            ProtectionDomain protectionDomain,
            QueuePairAttributes attributes,
            MemorySegment handle,
            Consumer<MemorySegment> destroy,
            MemorySegment capabilities,
            SendRequests singleSend,
            ReceiveRequests singleReceive,
            @Nullable NativeResource... parents) {
        this.protectionDomain = protectionDomain;
        this.attributes = attributes;
        this.context = protectionDomain.context();
        this.datagram = attributes.type() == QpType.UD;
        this.sharesQueue = attributes.sendQueue() == attributes.receiveQueue();
        this.postsInUserSpace = protectionDomain.context().postsInUserSpace
                && !attributes.sendQueue().isExtended()
                && !attributes.receiveQueue().isExtended();
        this.destroy = destroy;
        this.number = ibv_qp.qp_num(handle);
        this.maxSendWr = ibv_qp_cap.max_send_wr(capabilities);
        this.maxReceiveWr = ibv_qp_cap.max_recv_wr(capabilities);
        this.maxInline = ibv_qp_cap.max_inline_data(capabilities);
        this.counted = true;
        this.groups = ConcurrentHashMap.newKeySet();
        this.singleSend = singleSend;
        this.singleReceive = singleReceive;
        this.counts = new WorkCounts();
        this.failuresBefore = DeviceContext.failuresTaken();
        super("qp", handle, protectionDomain.deviceName(), parents);
        singleSend.ownedBy(this);
        singleReceive.ownedBy(this);
        attributes.sendQueue().count(this);
        attributes.receiveQueue().count(this);
        reportEventsAs();
    }

    static QueuePair create(ProtectionDomain pd, QueuePairAttributes attributes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment init = ibv_qp_init_attr_ex.allocate(arena);
            Supplier<String> operands = () -> pd.describe() + ", " + attributes;
            return create(
                    pd,
                    attributes,
                    () -> {
                        Structs.queuePairEx(init, pd.handle, attributes);
                        return attributes.blockSelfMulticastLoopback()
                                ? createExtended(pd.context(), init, operands.get())
                                : Verbs.create(Verbs.CREATE_QP, operands, pd.handle, init);
                    },
                    handle -> Verbs.destroy(Verbs.DESTROY_QP, operands, handle),
                    ibv_qp_init_attr_ex.cap(init));
        }
    }

    /** Does what the inline ibv_create_qp_ex(3) does for attributes that have more than a protection domain. */
    private static MemorySegment createExtended(DeviceContext context, MemorySegment init, String operands) {
        MemorySegment function = context.extended(verbs_context::create_qp_ex)
                .orElseThrow(() -> new RdmaException("ibv_create_qp_ex", operands, rdma_h.EOPNOTSUPP()));
        try {
            MemorySegment made = (MemorySegment)
                    Verbs.CREATE_QP_EX.handle().invokeExact(function, Native.errnoState(), context.handle, init);
            return Verbs.made(made, "ibv_create_qp_ex", operands);
        } catch (Throwable e) {
            throw Native.unchecked("ibv_create_qp_ex", e);
        }
    }

    static QueuePair create(
            ProtectionDomain pd,
            QueuePairAttributes attributes,
            Supplier<MemorySegment> create,
            Consumer<MemorySegment> destroy,
            MemorySegment capabilities,
            @Nullable NativeResource... parents) {
        List<VerbsObject> uses = new ArrayList<>(List.of(pd, attributes.sendQueue(), attributes.receiveQueue()));
        long context = pd.context().address;
        require(attributes.sendQueue().context().address == context, attributes.sendQueue(), pd);
        require(attributes.receiveQueue().context().address == context, attributes.receiveQueue(), pd);
        SharedReceiveQueue srq = attributes.srq();
        if (srq != null) {
            require(srq.protectionDomain().context().address == context, srq, pd);
            uses.add(srq);
        }
        @Nullable NativeResource[] above = new NativeResource[uses.size() + parents.length];
        for (int i = 0; i < above.length; i++) {
            above[i] = i < uses.size() ? uses.get(i) : parents[i - uses.size()];
        }
        return holding(uses, 0, () -> {
            MemorySegment handle = create.get().reinterpret(ibv_qp.sizeof());
            SendRequests singleSend = SendRequests.allocate(1);
            ReceiveRequests singleReceive = ReceiveRequests.allocate(1);
            try {
                return new QueuePair(pd, attributes, handle, destroy, capabilities, singleSend, singleReceive, above);
            } catch (IllegalStateException e) {
                singleSend.free();
                singleReceive.free();
                destroy.accept(handle);
                throw e;
            }
        });
    }

    private static void require(boolean sameDevice, VerbsObject object, ProtectionDomain pd) {
        if (!sameDevice) {
            throw new IllegalArgumentException(object.describe() + " is not of the device of " + pd.describe());
        }
    }

    /** Tells whether the completion queues still count completions of this queue pair. */
    boolean isCounted() {
        return counted;
    }

    /** Returns the number, 24 bits, by which the peer knows it. */
    public int number() {
        return number;
    }

    /** Returns the service. */
    public QpType type() {
        return attributes.type();
    }

    /** Tells whether it is the sending end of an extended reliable connection (IBV_QPT_XRC_SEND). */
    public boolean isXrcInitiator() {
        return attributes.xrcInitiator();
    }

    /** Returns the protection domain. */
    public ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    /** Returns the queue for completions of sends. */
    public CompletionQueue sendQueue() {
        return attributes.sendQueue();
    }

    /** Returns the queue for completions of receives. */
    public CompletionQueue receiveQueue() {
        return attributes.receiveQueue();
    }

    /** Returns the shared receive queue; null if the queue pair has its own. */
    public @Nullable SharedReceiveQueue srq() {
        return attributes.srq();
    }

    /** Returns how many sends can be outstanding; at least what was asked for. */
    public int maxSendWr() {
        return maxSendWr;
    }

    /** Returns how many receives can be outstanding; at least what was asked for. */
    public int maxReceiveWr() {
        return maxReceiveWr;
    }

    /** Returns how many bytes can be sent inline; at least what was asked for. */
    public int maxInline() {
        return maxInline;
    }

    /**
     * Returns how many requests were posted to the queue pair and how many of them have completed, as this harness has seen it. A
     * reset sets the counts to 0.
     */
    public OutstandingWork work() {
        return counts.get();
    }

    /**
     * Counts completions that were polled; allocates nothing.
     *
     * @param alone whether the calling thread is the user of the completion queue, see {@link
     *     io.rdmatest.NativeResource#enterOften()}
     */
    void completed(boolean alone, int sends, int receives, int undecided) {
        counts.completed(alone, sends, receives, undecided);
        SharedReceiveQueue srq = attributes.srq();
        if (srq != null && receives > 0) {
            srq.completed(receives);
        }
    }

    /** Notes that the caller ends the connection, which moves the queue pair to ERR. */
    void intendError() {
        errorIntended = true;
    }

    /**
     * Tells whether the program has reason to know of the error state: it moved the queue pair there itself or disconnected, or
     * it took a failed completion from any queue since the queue pair was made. That completion may be the peer's, which may be on
     * another device: a refused request moves both ends of a connection to ERR.
     */
    public boolean isErrorKnown() {
        return errorIntended || DeviceContext.failuresTaken() != failuresBefore;
    }

    boolean isDatagram() {
        return datagram;
    }

    /** Tells whether sends and receives complete on one queue. */
    boolean sharesQueue() {
        return sharesQueue;
    }

    /** Asks the device for the state (ibv_query_qp(3)). */
    public QpState state() {
        return query(1).state();
    }

    /**
     * Queries all attributes of the service (ibv_query_qp(3)). For UD they are the state, the P_Key index, the port, the Q_Key
     * and the packet sequence number.
     */
    public QueuePairModification query() {
        return query(QueuePairModification.allOf(type()));
    }

    private QueuePairModification query(int mask) {
        begin();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attr = ibv_qp_attr.allocate(arena);
            MemorySegment init = ibv_qp_init_attr.allocate(arena);
            int result = (int) Verbs.QUERY_QP.handle().invokeExact(Native.errnoState(), handle, attr, mask, init);
            Verbs.check(result, "ibv_query_qp", describe());
            return QueuePairModification.read(attr, mask);
        } catch (Throwable e) {
            throw Native.unchecked("ibv_query_qp", e);
        } finally {
            end();
        }
    }

    /**
     * Changes attributes, the state among them (ibv_modify_qp(3)).
     *
     * @param modification the values
     * @throws RdmaException if the transition is not allowed or a value is missing or out of range; also if a P_Key index is
     *     beyond the table of the port that is set with it
     */
    public void modify(QueuePairModification modification) {
        begin();
        try (Arena arena = Arena.ofConfined()) {
            requireKnownPkey(modification);
            MemorySegment attr = ibv_qp_attr.allocate(arena);
            modification.write(attr);
            Verbs.run(Verbs.MODIFY_QP, describe() + ", " + modification, handle, attr, modification.mask());
            if (modification.setsState()) {
                errorIntended = modification.state() == QpState.ERR;
            }
        } finally {
            end();
        }
    }

    /** Checks the P_Key index, because soft-RoCE of Linux 6.1 accepts any index, and a query then returns it. */
    private void requireKnownPkey(QueuePairModification modification) {
        if (!modification.setsPortAndPkey() || modification.pkeyIndex() == 0) {
            return;
        }
        DeviceContext context = protectionDomain().context();
        int port = modification.port();
        if (port < 1 || port > context.attributes().physicalPorts()) {
            return;
        }
        int entries = context.port(port).pkeyTableLength();
        if (modification.pkeyIndex() >= entries) {
            String cure = "The P_Key table of port " + port + " has a length of " + entries
                    + ": use a lower index, 0 mostly.";
            throw new RdmaException("ibv_modify_qp", describe() + ", " + modification, EINVAL, cure);
        }
    }

    /**
     * Queries the ECE options that the device offers for a connection, or those that were agreed on (ibv_query_ece(3)). Send them
     * to the peer before either side leaves INIT.
     *
     * @return the options
     * @throws RdmaException if the device has no ECE; the exception is then {@linkplain RdmaException#isUnsupported()
     *     unsupported}
     */
    public Ece queryEce() {
        begin();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment ece = ibv_ece.allocate(arena);
            Verbs.run(Verbs.QUERY_ECE, describe(), handle, ece);
            return new Ece(ibv_ece.vendor_id(ece), ibv_ece.options(ece));
        } finally {
            end();
        }
    }

    /**
     * Sets the ECE options that both sides agreed on (ibv_set_ece(3)). Call it in INIT, before the queue pair goes to RTR.
     *
     * @param agreed what both sides offer
     * @throws RdmaException EINVAL if the vendor is not the device's; the exception is {@linkplain RdmaException#isUnsupported()
     *     unsupported} if the device has no ECE
     */
    public void setEce(Ece agreed) {
        begin();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment ece = ibv_ece.allocate(arena);
            ibv_ece.vendor_id(ece, agreed.vendorId());
            ibv_ece.options(ece, agreed.options());
            Verbs.run(Verbs.SET_ECE, describe() + ", " + agreed, handle, ece);
        } finally {
            end();
        }
    }

    /**
     * Goes from RESET to INIT, for a connected service.
     *
     * @param port the local port, from 1
     * @param pkeyIndex the index of the partition key, usually 0
     * @param access what the peer may do
     */
    public void toInit(int port, int pkeyIndex, Access... access) {
        modify(QueuePairModification.to(QpState.INIT)
                .port(port)
                .pkeyIndex(pkeyIndex)
                .access(access)
                .build());
    }

    /**
     * Brings a UD queue pair from RESET to RTS.
     *
     * @param port the local port, from 1
     * @param pkeyIndex the index of the partition key, usually 0
     * @param qkey the key that senders have to name
     * @param sendPsn the first packet sequence number, 24 bits
     */
    public void toReadyToSendDatagrams(int port, int pkeyIndex, int qkey, int sendPsn) {
        modify(QueuePairModification.to(QpState.INIT)
                .port(port)
                .pkeyIndex(pkeyIndex)
                .qkey(qkey)
                .build());
        modify(QueuePairModification.to(QpState.RTR).build());
        modify(QueuePairModification.to(QpState.RTS).sendPsn(sendPsn).build());
    }

    /**
     * Goes from INIT to RTR.
     *
     * @param values destination, MTU, PSN and the rest; the state is set here
     */
    public void toReadyToReceive(QueuePairModification.Builder values) {
        modify(values.state(QpState.RTR).build());
    }

    /**
     * Goes from RTR to RTS.
     *
     * @param values timeouts, retries, PSN and the rest; the state is set here
     */
    public void toReadyToSend(QueuePairModification.Builder values) {
        modify(values.state(QpState.RTS).build());
    }

    /** Goes to ERR: outstanding work is flushed. */
    public void toError() {
        modify(QueuePairModification.to(QpState.ERR).build());
    }

    /** Goes to RESET: outstanding work is forgotten without completions. */
    public void reset() {
        modify(QueuePairModification.to(QpState.RESET).build());
        counts.reset();
    }

    /**
     * Posts all requests of a list with one downcall (ibv_post_send(3)).
     *
     * @param requests each of them set
     * @throws PostException if not all were posted
     * @throws IllegalArgumentException if a request is not of this queue pair's service, or its memory is of another protection
     *     domain
     * @throws IllegalStateException if a request is not set, or memory or a destination is closed
     */
    public void post(SendRequests requests) {
        post(requests, 0, requests.capacity());
    }

    /**
     * Posts a part of a list with one downcall (ibv_post_send(3)).
     *
     * @param requests the list
     * @param from the first to post
     * @param count how many, from 1
     * @throws PostException if not all were posted; its index counts from {@code from}
     * @throws IllegalArgumentException if a request is not of this queue pair's service, or its memory is of another protection
     *     domain
     * @throws IllegalStateException if a request is not set, or memory or a destination is closed
     */
    public void post(SendRequests requests, int from, int count) {
        boolean alone = beginOften();
        try {
            postHeld(requests, from, count, alone);
        } finally {
            endOften();
        }
    }

    private void postHeld(SendRequests requests, int from, int count, boolean alone) {
        // Counted before the call, because the completion can be polled before the call returns.
        counts.postSends(alone, count);
        int posted = 0;
        try {
            countUnsignaled(alone, requests.post(this, context, from, count));
            posted = count;
        } catch (PostException e) {
            posted = Math.max(0, e.badIndex());
            countUnsignaled(alone, requests.unsignaled(from, posted));
            throw e;
        } finally {
            if (posted != count) {
                counts.postSends(alone, posted - count);
            }
        }
    }

    private void countUnsignaled(boolean alone, int count) {
        if (count != 0 && !attributes.signalAll()) {
            counts.postUnsignaled(alone, count);
        }
    }

    /**
     * Posts all receives of a list with one downcall (ibv_post_recv(3)).
     *
     * @param requests each of them set
     * @throws PostException if not all were posted
     * @throws IllegalArgumentException if memory is of another protection domain
     * @throws IllegalStateException if the queue pair receives from a shared queue, or memory is closed
     */
    public void post(ReceiveRequests requests) {
        post(requests, 0, requests.capacity());
    }

    /**
     * Posts a part of a list of receives with one downcall (ibv_post_recv(3)).
     *
     * @param requests the list
     * @param from the first to post
     * @param count how many, from 1
     * @throws PostException if not all were posted; its index counts from {@code from}
     * @throws IllegalArgumentException if memory is of another protection domain
     * @throws IllegalStateException if the queue pair receives from a shared queue, or memory is closed
     */
    public void post(ReceiveRequests requests, int from, int count) {
        SharedReceiveQueue srq = attributes.srq();
        if (srq != null) {
            throw new IllegalStateException(describe() + " receives from " + srq.describe() + ": post there");
        }
        boolean alone = beginOften();
        try {
            counts.postReceives(alone, count);
            int posted = 0;
            try {
                requests.post(
                        "ibv_post_recv", this, protectionDomain, context.postReceive, postsInUserSpace, from, count);
                posted = count;
            } catch (PostException e) {
                posted = Math.max(0, e.badIndex());
                throw e;
            } finally {
                if (posted != count) {
                    counts.postReceives(alone, posted - count);
                }
            }
        } finally {
            endOften();
        }
    }

    /** Holds the queue pair and locks its single request. The request is freed when the queue pair is closed. */
    private boolean beginSingle() {
        boolean alone = beginOften();
        singleSend.lock();
        return alone;
    }

    private void endSingle() {
        singleSend.unlock();
        endOften();
    }

    /**
     * Posts a SEND.
     *
     * @param wrId comes back in the completion
     * @param region the memory with the data
     * @param offset where the data begins in the region
     * @param length bytes; 0 sends an empty message
     * @param flags how it is carried out
     */
    public void postSend(long wrId, MemoryRegion region, long offset, int length, SendFlag... flags) {
        boolean alone = beginSingle();
        try {
            postHeld(singleSend.send(0, wrId, region, offset, length, flags), 0, 1, alone);
        } finally {
            endSingle();
        }
    }

    /**
     * Posts a SEND with immediate data.
     *
     * @param wrId comes back in the completion
     * @param region the memory with the data
     * @param offset where the data begins in the region
     * @param length bytes; 0 sends an empty message
     * @param immediate host order
     * @param flags how it is carried out
     */
    public void postSendWithImmediate(
            long wrId, MemoryRegion region, long offset, int length, int immediate, SendFlag... flags) {
        boolean alone = beginSingle();
        try {
            postHeld(singleSend.sendWithImmediate(0, wrId, region, offset, length, immediate, flags), 0, 1, alone);
        } finally {
            endSingle();
        }
    }

    /**
     * Posts an RDMA WRITE.
     *
     * @param wrId comes back in the completion
     * @param region the memory with the data
     * @param offset where the data begins in the region
     * @param length bytes
     * @param remoteAddress where the peer's memory is
     * @param rkey the key of the peer's memory
     * @param flags how it is carried out
     */
    public void postWrite(
            long wrId, MemoryRegion region, long offset, int length, long remoteAddress, int rkey, SendFlag... flags) {
        boolean alone = beginSingle();
        try {
            postHeld(singleSend.write(0, wrId, region, offset, length, remoteAddress, rkey, flags), 0, 1, alone);
        } finally {
            endSingle();
        }
    }

    /**
     * Posts an RDMA WRITE over the whole of a peer's memory.
     *
     * @param wrId comes back in the completion
     * @param region the memory with the data, from its beginning
     * @param target the peer's memory; its length is that of the message
     * @param flags how it is carried out
     * @throws IndexOutOfBoundsException if the region is shorter than the target
     */
    public void postWrite(long wrId, MemoryRegion region, RemoteMemory target, SendFlag... flags) {
        postWrite(wrId, region, 0, target.messageLength(), target.address(), target.rkey(), flags);
    }

    /**
     * Posts an RDMA WRITE with immediate data, which consumes a receive of the peer.
     *
     * @param wrId comes back in the completion
     * @param region the memory with the data
     * @param offset where the data begins in the region
     * @param length bytes
     * @param remoteAddress where the peer's memory is
     * @param rkey the key of the peer's memory
     * @param immediate host order
     * @param flags how it is carried out
     */
    public void postWriteWithImmediate(
            long wrId,
            MemoryRegion region,
            long offset,
            int length,
            long remoteAddress,
            int rkey,
            int immediate,
            SendFlag... flags) {
        boolean alone = beginSingle();
        try {
            postHeld(
                    singleSend.writeWithImmediate(
                            0, wrId, region, offset, length, remoteAddress, rkey, immediate, flags),
                    0,
                    1,
                    alone);
        } finally {
            endSingle();
        }
    }

    /**
     * Posts an RDMA WRITE with immediate data over the whole of a peer's memory. It consumes a receive of the peer.
     *
     * @param wrId comes back in the completion
     * @param region the memory with the data, from its beginning
     * @param target the peer's memory; its length is that of the message
     * @param immediate host order
     * @param flags how it is carried out
     * @throws IndexOutOfBoundsException if the region is shorter than the target
     */
    public void postWriteWithImmediate(
            long wrId, MemoryRegion region, RemoteMemory target, int immediate, SendFlag... flags) {
        postWriteWithImmediate(
                wrId, region, 0, target.messageLength(), target.address(), target.rkey(), immediate, flags);
    }

    /**
     * Posts an RDMA READ.
     *
     * @param wrId comes back in the completion
     * @param region the memory to read into
     * @param offset where it begins in the region
     * @param length bytes
     * @param remoteAddress where the peer's memory is
     * @param rkey the key of the peer's memory
     * @param flags how it is carried out
     */
    public void postRead(
            long wrId, MemoryRegion region, long offset, int length, long remoteAddress, int rkey, SendFlag... flags) {
        boolean alone = beginSingle();
        try {
            postHeld(singleSend.read(0, wrId, region, offset, length, remoteAddress, rkey, flags), 0, 1, alone);
        } finally {
            endSingle();
        }
    }

    /**
     * Posts an RDMA READ of the whole of a peer's memory.
     *
     * @param wrId comes back in the completion
     * @param region the memory to read into, from its beginning
     * @param source the peer's memory; its length is that of the message
     * @param flags how it is carried out
     * @throws IndexOutOfBoundsException if the region is shorter than the source
     */
    public void postRead(long wrId, MemoryRegion region, RemoteMemory source, SendFlag... flags) {
        postRead(wrId, region, 0, source.messageLength(), source.address(), source.rkey(), flags);
    }

    /**
     * Posts an atomic fetch and add of 8 bytes.
     *
     * @param wrId comes back in the completion
     * @param region the memory for the value that was there before
     * @param offset where it begins in the region
     * @param remoteAddress where the peer's memory is, a multiple of 8
     * @param rkey the key of the peer's memory
     * @param add what is added
     * @param flags how it is carried out
     */
    public void postFetchAndAdd(
            long wrId, MemoryRegion region, long offset, long remoteAddress, int rkey, long add, SendFlag... flags) {
        boolean alone = beginSingle();
        try {
            postHeld(singleSend.fetchAndAdd(0, wrId, region, offset, remoteAddress, rkey, add, flags), 0, 1, alone);
        } finally {
            endSingle();
        }
    }

    /**
     * Posts an atomic compare and swap of 8 bytes.
     *
     * @param wrId comes back in the completion
     * @param region the memory for the value that was there before
     * @param offset where it begins in the region
     * @param remoteAddress where the peer's memory is, a multiple of 8
     * @param rkey the key of the peer's memory
     * @param expected the value that must be there
     * @param swap the value that then replaces it
     * @param flags how it is carried out
     */
    public void postCompareAndSwap(
            long wrId,
            MemoryRegion region,
            long offset,
            long remoteAddress,
            int rkey,
            long expected,
            long swap,
            SendFlag... flags) {
        boolean alone = beginSingle();
        try {
            postHeld(
                    singleSend.compareAndSwap(0, wrId, region, offset, remoteAddress, rkey, expected, swap, flags),
                    0,
                    1,
                    alone);
        } finally {
            endSingle();
        }
    }

    /**
     * Posts a SEND of a datagram; UD only.
     *
     * @param wrId comes back in the completion
     * @param region the memory with the data
     * @param offset where the data begins in the region
     * @param length bytes, at most the path MTU
     * @param destination where to
     * @param remoteQp the destination's queue pair
     * @param qkey the destination's queue key
     * @param flags how it is carried out
     */
    public void postSend(
            long wrId,
            MemoryRegion region,
            long offset,
            int length,
            AddressHandle destination,
            int remoteQp,
            int qkey,
            SendFlag... flags) {
        boolean alone = beginSingle();
        try {
            postHeld(
                    singleSend.sendTo(0, wrId, region, offset, length, destination, remoteQp, qkey, flags),
                    0,
                    1,
                    alone);
        } finally {
            endSingle();
        }
    }

    /**
     * Posts a SEND of a datagram with immediate data; UD only.
     *
     * @param wrId comes back in the completion
     * @param region the memory with the data
     * @param offset where the data begins in the region
     * @param length bytes, at most the path MTU
     * @param destination where to
     * @param remoteQp the destination's queue pair
     * @param qkey the destination's queue key
     * @param immediate host order
     * @param flags how it is carried out
     */
    public void postSendWithImmediate(
            long wrId,
            MemoryRegion region,
            long offset,
            int length,
            AddressHandle destination,
            int remoteQp,
            int qkey,
            int immediate,
            SendFlag... flags) {
        boolean alone = beginSingle();
        try {
            postHeld(
                    singleSend.sendToWithImmediate(
                            0, wrId, region, offset, length, destination, remoteQp, qkey, immediate, flags),
                    0,
                    1,
                    alone);
        } finally {
            endSingle();
        }
    }

    /**
     * Posts a SEND that invalidates a key of the peer's memory, usually the key of a window of type 2. The key is invalid as soon
     * as the peer's receive completes. {@link WorkCompletion#invalidatedKey()} tells the peer which key it was. RC only.
     *
     * @param wrId comes back in the completion
     * @param region the memory with the data
     * @param offset where the data begins in the region
     * @param length bytes; 0 sends an empty message
     * @param rkey the key, as the peer gave it
     * @param flags how it is carried out
     */
    public void postSendWithInvalidate(
            long wrId, MemoryRegion region, long offset, int length, int rkey, SendFlag... flags) {
        boolean alone = beginSingle();
        try {
            postHeld(singleSend.sendWithInvalidate(0, wrId, region, offset, length, rkey, flags), 0, 1, alone);
        } finally {
            endSingle();
        }
    }

    /**
     * Posts an invalidation of a key of this side, usually the key of a window of type 2 (IBV_WR_LOCAL_INV).
     *
     * @param wrId comes back in the completion
     * @param rkey the key
     * @param flags how it is carried out
     */
    public void postInvalidate(long wrId, int rkey, SendFlag... flags) {
        boolean alone = beginSingle();
        try {
            postHeld(singleSend.invalidate(0, wrId, rkey, flags), 0, 1, alone);
        } finally {
            endSingle();
        }
    }

    /**
     * Posts a bind of a memory window (ibv_bind_mw(3), IBV_WR_BIND_MW). Later requests on this queue pair may rely on the bind.
     * The peer may get the key once the bind has completed.
     *
     * @param wrId comes back in the completion, {@link WorkCompletion.Opcode#BIND_MW}
     * @param window the window; of type 2 it must not be bound
     * @param region the region that contains the window, with {@link Access#MEMORY_WINDOW_BIND}
     * @param offset where it begins in the region
     * @param length bytes; 0 unbinds a window of type 1
     * @param access what the peer may do: REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC
     * @param flags how it is carried out
     * @return the key that a peer needs; also {@link MemoryWindow#rkey()}
     * @throws IndexOutOfBoundsException outside of the region
     * @throws PostException if a bind of a window of type 2 is not posted
     * @throws RdmaException if a bind of a window of type 1 is not posted
     */
    public int postBind(
            long wrId,
            MemoryWindow window,
            MemoryRegion region,
            long offset,
            long length,
            Set<Access> access,
            SendFlag... flags) {
        if (window.type() == MemoryWindow.Type.TYPE_1) {
            return bindType1(wrId, window, region, offset, length, access, flags);
        }
        boolean alone = beginSingle();
        try {
            int key = window.nextKey();
            postHeld(singleSend.bind(0, wrId, window, key, region, offset, length, access, flags), 0, 1, alone);
            return key;
        } finally {
            endSingle();
        }
    }

    /** Does what the inline ibv_bind_mw(3) does. The provider posts a request, and changes the key of the window. */
    private int bindType1(
            long wrId,
            MemoryWindow window,
            MemoryRegion region,
            long offset,
            long length,
            Set<Access> access,
            SendFlag... flags) {
        Objects.checkFromIndexSize(offset, length, region.size());
        if (window.protectionDomain() != region.protectionDomain()) {
            throw new IllegalArgumentException(
                    window.describe() + " and " + region.describe() + " are not of one protection domain");
        }
        require(window.protectionDomain().context().address == context.address, window, protectionDomain);
        int flagsMask = SendFlag.mask(flags);
        int accessMask = Access.mask(access);
        return holding(List.of(this, window, region), 0, () -> {
            int result;
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment bind = ibv_mw_bind.allocate(arena);
                ibv_mw_bind.wr_id(bind, wrId);
                ibv_mw_bind.send_flags(bind, flagsMask);
                MemorySegment info = ibv_mw_bind.bind_info(bind);
                ibv_mw_bind_info.mr(info, region.handle);
                ibv_mw_bind_info.addr(info, region.address(offset));
                ibv_mw_bind_info.length(info, length);
                ibv_mw_bind_info.mw_access_flags(info, accessMask);
                MemorySegment function = ibv_context_ops.bind_mw(ibv_context.ops(context.handle));
                // Before the call: the completion can be polled before it returns.
                counts.postSends(false, 1);
                result = (int)
                        Verbs.BIND_MW.handle().invokeExact(function, Native.errnoState(), handle, window.handle, bind);
            } catch (Throwable e) {
                throw Native.unchecked("ibv_bind_mw", e);
            }
            if (result != 0) {
                counts.postSends(false, -1);
            } else if ((flagsMask & SendFlag.SIGNALED.bit()) == 0) {
                countUnsignaled(false, 1);
            }
            Verbs.check(result, "ibv_bind_mw", describe() + ", " + window.describe() + ", " + region.describe());
            return window.readKey();
        });
    }

    /**
     * Posts a receive.
     *
     * @param wrId comes back in the completion
     * @param region the memory to receive into
     * @param offset where it begins in the region
     * @param length bytes; UD needs 40 more than the payload
     */
    public void postReceive(long wrId, MemoryRegion region, long offset, int length) {
        beginOften();
        try {
            singleReceive.lock();
            try {
                post(singleReceive.receive(0, wrId, region, offset, length));
            } finally {
                singleReceive.unlock();
            }
        } finally {
            endOften();
        }
    }

    /**
     * Joins a multicast group (ibv_attach_mcast(3)); UD only. The port must be a member of the group too. Closing the queue pair
     * leaves the group.
     *
     * @param group the group's GID
     * @param lid the group's LID; 0 on RoCE
     */
    public void attachMulticast(Gid group, int lid) {
        multicast(group, lid, true);
    }

    /**
     * Leaves a multicast group (ibv_detach_mcast(3)).
     *
     * @param group the group's GID
     * @param lid the group's LID; 0 on RoCE
     */
    public void detachMulticast(Gid group, int lid) {
        multicast(group, lid, false);
    }

    private void multicast(Gid group, int lid, boolean attach) {
        AddressHandleAttributes.range("lid", lid, 0xffff);
        begin();
        try {
            multicastNow(group, lid, attach);
            // Recorded before the call ends: closing must know which groups to leave, and must leave each only once.
            boolean ignored = attach ? groups.add(new Group(group, lid)) : groups.remove(new Group(group, lid));
        } finally {
            end();
        }
    }

    private void multicastNow(Gid group, int lid, boolean attach) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment gid = ibv_gid.allocate(arena);
            Structs.gid(gid, group);
            String operands = describe() + ", " + group + ", lid " + lid;
            if (attach) {
                int result = Verbs.call(Verbs.ATTACH_MCAST, handle, gid, (short) lid);
                Verbs.check(result, Verbs.ATTACH_MCAST.function(), operands);
            } else {
                int result = Verbs.call(Verbs.DETACH_MCAST, handle, gid, (short) lid);
                Verbs.checkDestroyed(result, Verbs.DETACH_MCAST.function(), operands);
            }
        }
    }

    /**
     * Moves the queue pair to ERR and waits until all posted work is flushed. It takes all completions off its queues, also those
     * of other queue pairs, and returns them. With a shared receive queue only the send queue is drained.
     *
     * <p>The method posts a marker to each queue. The marker's completion tells that the queue is drained. If a marker can't be
     * posted, the method counts completions. If the count is not enough, it waits until no completion arrives for 100 ms. This
     * concerns a full receive queue that shares its completion queue with the send queue, and datagrams, which can't be sent
     * without a destination.
     *
     * @param timeout the longest time to wait
     * @return the completions; empty if none was outstanding
     * @throws RdmaTimeoutException if the queues are not drained in time
     */
    public List<WorkCompletion> drain(Duration timeout) {
        long deadline = Deadline.end(timeout);
        long mark = System.identityHashCode(this) | 0xd7a1_0000_0000_0000L;
        List<WorkCompletion> taken = new ArrayList<>();
        boolean receiveDone = attributes.srq() != null;
        // Posted before ERR: rxe ignores receives that are posted later.
        boolean receiveMarked = !receiveDone && markReceive(mark, taken);
        toError();
        boolean sendDone = false;
        boolean sendMarked = false;
        long last = System.nanoTime();
        while (true) {
            // On some devices a full queue has room again only after its completions are taken.
            sendMarked = sendMarked || type() != QpType.UD && markSend(mark);
            int before = taken.size();
            taken.addAll(sendQueue().take(16));
            if (receiveQueue() != sendQueue()) {
                taken.addAll(receiveQueue().take(16));
            }
            long now = System.nanoTime();
            if (taken.size() > before) {
                last = now;
            }
            for (int i = taken.size() - 1; i >= before; i--) {
                WorkCompletion completion = taken.get(i);
                // The operation of a flushed request is undefined. So the two marks differ by their identifier.
                if (completion.qpNumber() == number && (completion.wrId() & ~1L) == (mark & ~1L)) {
                    taken.remove(i);
                    if ((completion.wrId() & 1L) == 0) {
                        sendDone = true;
                    } else {
                        receiveDone = true;
                    }
                }
            }
            boolean quiet = now - last >= QUIET_NANOS;
            if (!sendMarked && !sendDone) {
                sendDone = counts.get().sends() == 0 || type() == QpType.UD && quiet;
            }
            if (!receiveMarked && !receiveDone) {
                receiveDone = sendDone && receivesAreFlushed(quiet);
            }
            if (sendDone && receiveDone) {
                return taken;
            }
            if (Deadline.isOver(deadline)) {
                throw new RdmaTimeoutException(
                        "drained queues of " + describe(),
                        Deadline.of(deadline, timeout),
                        "send queue " + (sendDone ? "" : "not ") + "drained, receive queue "
                                + (receiveDone ? "" : "not ") + "drained, " + taken.size() + " completions");
            }
            Verbs.failIfInterrupted("drained queues of " + describe());
            Thread.yield();
        }
    }

    private boolean receivesAreFlushed(boolean quiet) {
        OutstandingWork work = counts.get();
        return work.receives() == 0
                // On a shared completion queue a flushed request does not tell which queue it was posted to.
                || sendQueue() == receiveQueue() && work.receives() <= work.undecided() && quiet;
    }

    private boolean markReceive(long mark, List<WorkCompletion> taken) {
        if (tryToMarkReceive(mark)) {
            return true;
        }
        // The queue is full: take its completions and try once more.
        taken.addAll(receiveQueue().take(16));
        return tryToMarkReceive(mark);
    }

    private boolean tryToMarkReceive(long mark) {
        beginOften();
        try {
            singleReceive.lock();
            try {
                post(singleReceive.empty(0, mark | 1L));
                return true;
            } catch (PostException full) {
                return false;
            } finally {
                singleReceive.unlock();
            }
        } finally {
            endOften();
        }
    }

    private boolean markSend(long mark) {
        boolean alone = beginSingle();
        try {
            postHeld(singleSend.sendEmpty(0, mark & ~1L, SendFlag.SIGNALED), 0, 1, alone);
            return true;
        } catch (PostException full) {
            return false;
        } finally {
            endSingle();
        }
    }

    @Override
    protected void release() {
        for (Group group : groups) {
            multicastNow(group.gid(), group.lid(), false);
            groups.remove(group);
        }
        reportEventsNoMore();
        try {
            destroy.accept(handle);
        } catch (RdmaException e) {
            reportEventsAs();
            throw e;
        }
        counted = false;
        attributes.sendQueue().stopCounting(this);
        if (attributes.receiveQueue() != attributes.sendQueue()) {
            attributes.receiveQueue().stopCounting(this);
        }
        singleSend.free();
        singleReceive.free();
    }

    @Override
    public String describe() {
        return "qp " + deviceName() + "/" + number;
    }
}
