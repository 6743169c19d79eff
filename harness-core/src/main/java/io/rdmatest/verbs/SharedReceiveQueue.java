package io.rdmatest.verbs;

import io.rdmatest.NativeResource;
import io.rdmatest.RdmaException;
import io.rdmatest.ffi.ibv_srq;
import io.rdmatest.ffi.ibv_srq_attr;
import io.rdmatest.ffi.ibv_srq_init_attr;
import io.rdmatest.ffi.ibv_srq_init_attr_ex;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.ffi.verbs_context;
import io.rdmatest.internal.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.OptionalInt;

/** A receive queue that several queue pairs share (ibv_create_srq(3); IBTA volume 1, section 10.2.9). */
public final class SharedReceiveQueue extends VerbsObject {

    /**
     * The capacities of a shared receive queue (struct ibv_srq_attr).
     *
     * @param maxWr outstanding receives
     * @param maxSge scatter elements of a receive
     * @param limit an event is raised when fewer receives than this are left; 0 if no event is asked for
     */
    public record Attributes(int maxWr, int maxSge, int limit) {}

    private final ProtectionDomain protectionDomain;
    private final int number;
    private final ReceiveRequests single;
    private final WorkCounts counts;
    private final OptionalInt xrcNumber;

    private SharedReceiveQueue(
            ProtectionDomain protectionDomain,
            MemorySegment handle,
            ReceiveRequests single,
            OptionalInt xrcNumber,
            NativeResource... parents) {
        this.protectionDomain = protectionDomain;
        this.xrcNumber = xrcNumber;
        this.number = ibv_srq.handle(handle);
        this.single = single;
        this.counts = new WorkCounts();
        super("srq", handle, protectionDomain.deviceName(), parents);
        single.ownedBy(this);
        reportEventsAs();
    }

    private static void check(int maxWr, int maxSge) {
        if (maxWr < 1 || maxSge < 1) {
            throw new IllegalArgumentException(
                    "a shared receive queue has at least 1 receive of 1 element, not " + maxWr + " of " + maxSge);
        }
    }

    static SharedReceiveQueue create(
            ProtectionDomain pd, XrcDomain domain, CompletionQueue queue, int maxWr, int maxSge) {
        check(maxWr, maxSge);
        DeviceContext context = pd.context();
        if (domain.context().address != context.address || queue.context().address != context.address) {
            throw new IllegalArgumentException(
                    domain.describe() + ", " + queue.describe() + " and " + pd.describe() + " are not of one device");
        }
        String operands = pd.describe() + ", " + domain.describe() + ", " + queue.describe() + ", max_wr " + maxWr
                + ", max_sge " + maxSge;
        return VerbsObject.holding(List.of(pd, domain, queue), 0, () -> {
            MemorySegment function = context.extended(verbs_context::create_srq_ex)
                    .orElseThrow(() -> new RdmaException("ibv_create_srq_ex", operands, rdma_h.EOPNOTSUPP()));
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment init = ibv_srq_init_attr_ex.allocate(arena);
                MemorySegment attr = ibv_srq_init_attr_ex.attr(init);
                ibv_srq_attr.max_wr(attr, maxWr);
                ibv_srq_attr.max_sge(attr, maxSge);
                ibv_srq_init_attr_ex.comp_mask(
                        init,
                        rdma_h.IBV_SRQ_INIT_ATTR_TYPE()
                                | rdma_h.IBV_SRQ_INIT_ATTR_PD()
                                | rdma_h.IBV_SRQ_INIT_ATTR_XRCD()
                                | rdma_h.IBV_SRQ_INIT_ATTR_CQ());
                ibv_srq_init_attr_ex.srq_type(init, rdma_h.IBV_SRQT_XRC());
                ibv_srq_init_attr_ex.pd(init, pd.handle);
                ibv_srq_init_attr_ex.xrcd(init, domain.handle);
                ibv_srq_init_attr_ex.cq(init, queue.handle);
                MemorySegment made = (MemorySegment)
                        Verbs.CREATE_SRQ_EX.handle().invokeExact(function, Native.errnoState(), context.handle, init);
                MemorySegment srq =
                        Verbs.made(made, "ibv_create_srq_ex", operands).reinterpret(ibv_srq.sizeof());
                ReceiveRequests single = ReceiveRequests.allocate(1);
                try {
                    return new SharedReceiveQueue(
                            pd, srq, single, OptionalInt.of(numberOf(context, srq, operands)), pd, domain, queue);
                } catch (IllegalStateException | RdmaException e) {
                    single.free();
                    Verbs.destroy(Verbs.DESTROY_SRQ, operands, srq);
                    throw e;
                }
            } catch (Throwable e) {
                throw Native.unchecked("ibv_create_srq_ex", e);
            }
        });
    }

    private static int numberOf(DeviceContext context, MemorySegment srq, String operands) throws Throwable {
        MemorySegment function = context.extended(verbs_context::get_srq_num)
                .orElseThrow(() -> new RdmaException("ibv_get_srq_num", operands, rdma_h.EOPNOTSUPP()));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment number = arena.allocate(ValueLayout.JAVA_INT);
            int result = (int) Verbs.GET_SRQ_NUM.handle().invokeExact(function, Native.errnoState(), srq, number);
            Verbs.check(result, "ibv_get_srq_num", operands);
            return number.get(ValueLayout.JAVA_INT, 0);
        }
    }

    static SharedReceiveQueue create(ProtectionDomain pd, int maxWr, int maxSge) {
        check(maxWr, maxSge);
        String operands = pd.describe() + ", max_wr " + maxWr + ", max_sge " + maxSge;
        pd.begin();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment init = ibv_srq_init_attr.allocate(arena);
            MemorySegment attr = ibv_srq_init_attr.attr(init);
            ibv_srq_attr.max_wr(attr, maxWr);
            ibv_srq_attr.max_sge(attr, maxSge);
            MemorySegment srq =
                    Verbs.create(Verbs.CREATE_SRQ, operands, pd.handle, init).reinterpret(ibv_srq.sizeof());
            ReceiveRequests single = ReceiveRequests.allocate(1);
            try {
                return new SharedReceiveQueue(pd, srq, single, OptionalInt.empty(), pd);
            } catch (IllegalStateException e) {
                single.free();
                Verbs.destroy(Verbs.DESTROY_SRQ, operands, srq);
                throw e;
            }
        } finally {
            pd.end();
        }
    }

    /** Returns the protection domain. */
    public ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    /**
     * Returns the number that senders of extended reliable connections use for the queue (ibv_get_srq_num(3)); empty if the queue
     * is not for such connections.
     */
    public OptionalInt xrcNumber() {
        return xrcNumber;
    }

    /**
     * Posts one receive (ibv_post_srq_recv(3)).
     *
     * @param wrId comes back in the completion
     * @param region the memory to receive into
     * @param offset where it begins in the region
     * @param length bytes
     * @throws IndexOutOfBoundsException outside of the region
     * @throws PostException if the queue is full
     */
    public void postReceive(long wrId, MemoryRegion region, long offset, int length) {
        beginOften();
        try {
            single.lock();
            try {
                post(single.receive(0, wrId, region, offset, length));
            } finally {
                single.unlock();
            }
        } finally {
            endOften();
        }
    }

    /**
     * Posts a list of receives with one downcall (ibv_post_srq_recv(3)).
     *
     * @param requests the list; each of its requests must be set
     * @throws PostException if not all were posted
     * @throws IllegalArgumentException if memory is of another protection domain
     */
    public void post(ReceiveRequests requests) {
        post(requests, 0, requests.capacity());
    }

    /**
     * Posts a part of a list of receives with one downcall (ibv_post_srq_recv(3)).
     *
     * @param requests the list
     * @param from the first to post
     * @param count how many, from 1
     * @throws PostException if not all were posted
     * @throws IllegalArgumentException if memory is of another protection domain
     */
    public void post(ReceiveRequests requests, int from, int count) {
        boolean alone = beginOften();
        try {
            counts.postReceives(alone, count);
            int posted = 0;
            try {
                DeviceContext context = protectionDomain.context();
                requests.post(
                        "ibv_post_srq_recv",
                        this,
                        protectionDomain,
                        context.postSrqReceive,
                        context.postsInUserSpace,
                        from,
                        count);
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

    /**
     * Returns how many receives were posted and how many of them have completed, as this harness has seen it. It does not see the
     * completions of extended reliable connections.
     */
    public OutstandingWork work() {
        return counts.get();
    }

    void completed(int receives) {
        // Counts atomically, because queue pairs with different completion queues may share this queue.
        counts.completed(false, 0, receives, 0);
    }

    /**
     * Requests one {@link AsyncEvent.Type#SRQ_LIMIT_REACHED} for the moment when fewer receives than the limit are left
     * (ibv_modify_srq(3)).
     *
     * @param limit from 1 to the capacity
     */
    public void arm(int limit) {
        begin();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attr = ibv_srq_attr.allocate(arena);
            ibv_srq_attr.srq_limit(attr, limit);
            Verbs.run(Verbs.MODIFY_SRQ, describe() + ", srq_limit " + limit, handle, attr, rdma_h.IBV_SRQ_LIMIT());
        } finally {
            end();
        }
    }

    /** Returns the capacities and the limit (ibv_query_srq(3)). */
    public Attributes attributes() {
        begin();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attr = ibv_srq_attr.allocate(arena);
            Verbs.run(Verbs.QUERY_SRQ, describe(), handle, attr);
            return new Attributes(ibv_srq_attr.max_wr(attr), ibv_srq_attr.max_sge(attr), ibv_srq_attr.srq_limit(attr));
        } finally {
            end();
        }
    }

    @Override
    protected void release() {
        reportEventsNoMore();
        try {
            Verbs.destroy(Verbs.DESTROY_SRQ, this::describe, handle);
        } catch (RdmaException e) {
            reportEventsAs();
            throw e;
        }
        single.free();
    }

    @Override
    public String describe() {
        return "srq " + deviceName() + "/" + number;
    }
}
