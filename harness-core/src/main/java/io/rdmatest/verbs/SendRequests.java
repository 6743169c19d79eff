package io.rdmatest.verbs;

import static io.rdmatest.internal.CMemory.ALL;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdmatest.ffi.ibv_send_wr;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Prepared send requests: a native array that is posted, as a whole or in part, with one downcall and no allocation
 * (ibv_post_send(3); IBTA volume 1, section 11.4.1.1). Requests can be posted again and again.
 *
 * <p>An operation method sets a request completely; {@link #wrId}, {@link #segment}, {@link #remoteAddress},
 * {@link #immediate}, {@link #flags} change single values between posts.
 */
public final class SendRequests extends WorkRequests {

    private static final long SIZE = ibv_send_wr.sizeof();
    private static final long OPCODE = ibv_send_wr.opcode$offset();
    private static final long FLAGS = ibv_send_wr.send_flags$offset();
    private static final long IMMEDIATE = ibv_send_wr.imm_data$offset();
    private static final long RDMA_ADDRESS = in("rdma", "remote_addr");
    private static final long RDMA_KEY = in("rdma", "rkey");
    private static final long ATOMIC_ADDRESS = in("atomic", "remote_addr");
    private static final long ATOMIC_COMPARE_ADD = in("atomic", "compare_add");
    private static final long ATOMIC_SWAP = in("atomic", "swap");
    private static final long ATOMIC_KEY = in("atomic", "rkey");
    private static final long UD_AH = in("ud", "ah");
    private static final long UD_QP = in("ud", "remote_qpn");
    private static final long UD_KEY = in("ud", "remote_qkey");
    private static final long REMOTE_SRQ = ibv_send_wr.qp_type$offset();
    private static final long BIND = ibv_send_wr.bind_mw$offset();
    private static final long BIND_WINDOW = BIND + inBind("mw");
    private static final long BIND_KEY = BIND + inBind("rkey");
    private static final long BIND_REGION = BIND + inBind("bind_info", "mr");
    private static final long BIND_ADDRESS = BIND + inBind("bind_info", "addr");
    private static final long BIND_LENGTH = BIND + inBind("bind_info", "length");
    private static final long BIND_ACCESS = BIND + inBind("bind_info", "mw_access_flags");
    private static final ValueLayout.OfInt NETWORK_INT = ValueLayout.JAVA_INT.withOrder(ByteOrder.BIG_ENDIAN);

    private static final String CALL = "ibv_post_send";

    private static final int WRITE = 0;
    private static final int WRITE_WITH_IMMEDIATE = 1;
    private static final int SEND = 2;
    private static final int SEND_WITH_IMMEDIATE = 3;
    private static final int READ = 4;
    private static final int COMPARE_AND_SWAP = 5;
    private static final int FETCH_AND_ADD = 6;
    private static final int LOCAL_INVALIDATE = 7;
    private static final int BIND_MEMORY_WINDOW = 8;
    private static final int SEND_WITH_INVALIDATE = 9;

    /**
     * How many objects a request may hold besides the regions of its segments: a destination, a window and the window's region.
     */
    private static final int NO_SEGMENTS = 3;

    private final @Nullable AddressHandle[] addressHandles;
    private final boolean[] inlined;
    /** Made by the first request that binds a window. */
    private @Nullable MemoryWindow @Nullable [] windows;

    private @Nullable MemoryRegion @Nullable [] bound;
    /** The keys that the windows had before the current post. */
    private int @Nullable [] formerKeys;
    /** How many requests have a destination, how many are inline, and how many bind a window. */
    private int destinations;

    private int inlines;
    private int binds;
    /** Which requests, and how many of them, complete without a completion. */
    private final boolean[] silent;

    private int silents;

    private SendRequests(int capacity, int maxSegments) {
        super(
                capacity,
                maxSegments,
                SIZE,
                ibv_send_wr.wr_id$offset(),
                ibv_send_wr.next$offset(),
                ibv_send_wr.sg_list$offset(),
                ibv_send_wr.num_sge$offset());
        this.addressHandles = new AddressHandle[capacity];
        this.inlined = new boolean[capacity];
        this.silent = new boolean[capacity];
    }

    private static long in(String member, String field) {
        return ibv_send_wr
                .layout()
                .byteOffset(
                        PathElement.groupElement("wr"),
                        PathElement.groupElement(member),
                        PathElement.groupElement(field));
    }

    private static long inBind(String... path) {
        return ibv_send_wr
                .bind_mw
                .layout()
                .byteOffset(Arrays.stream(path)
                        .map(name -> PathElement.groupElement(name))
                        .toArray(PathElement[]::new));
    }

    /**
     * Allocates requests of one segment.
     *
     * @param capacity how many, from 1
     * @return the list; each request has to be set before it is posted
     */
    public static SendRequests allocate(int capacity) {
        return new SendRequests(capacity, 1);
    }

    /**
     * Allocates requests.
     *
     * @param capacity how many, from 1
     * @param maxSegments segments of a request, from 1
     * @return the list; each request has to be set before it is posted
     */
    public static SendRequests allocate(int capacity, int maxSegments) {
        return new SendRequests(capacity, maxSegments);
    }

    private SendRequests request(
            int index,
            int opcode,
            long wrId,
            @Nullable MemoryRegion region,
            long offset,
            int length,
            SendFlag... flags) {
        // Computed before anything is written: a refused request must not look like one that is set.
        int mask = SendFlag.mask(flags);
        begin(index, wrId, region, offset, length);
        if (addressHandles[index] != null) {
            addressHandles[index] = null;
            destinations--;
        }
        unbind(index);
        long at = requests + index * SIZE;
        ALL.set(JAVA_INT, at + OPCODE, opcode);
        setFlags(index, mask);
        ALL.set(JAVA_INT, at + IMMEDIATE, 0);
        ALL.set(JAVA_INT, at + REMOTE_SRQ, 0);
        return this;
    }

    private void setFlags(int index, int mask) {
        ALL.set(JAVA_INT, requests + index * SIZE + FLAGS, mask);
        boolean inline = (mask & SendFlag.INLINE.bit()) != 0;
        if (inlined[index] != inline) {
            inlined[index] = inline;
            inlines += inline ? 1 : -1;
        }
        setSilent(index, (mask & SendFlag.SIGNALED.bit()) == 0);
    }

    private void setSilent(int index, boolean without) {
        if (silent[index] != without) {
            silent[index] = without;
            silents += without ? 1 : -1;
        }
    }

    private int countSilent(int from, int count) {
        if (silents == 0 || silents == capacity) {
            return silents == 0 ? 0 : count;
        }
        if (count == capacity) {
            return silents;
        }
        int found = 0;
        for (int i = from; i < from + count; i++) {
            found += silent[i] ? 1 : 0;
        }
        return found;
    }

    /** Returns how many of the requests are not signaled. */
    int unsignaled(int from, int count) {
        lock();
        try {
            return countSilent(from, count);
        } finally {
            unlock();
        }
    }

    @Override
    boolean needsKeys(int index) {
        return !inlined[index];
    }

    private SendRequests remote(int index, long remoteAddress, int rkey) {
        ALL.set(JAVA_LONG, requests + index * SIZE + RDMA_ADDRESS, remoteAddress);
        ALL.set(JAVA_INT, requests + index * SIZE + RDMA_KEY, rkey);
        return this;
    }

    private SendRequests atomic(int index, long remoteAddress, int rkey, long compareAdd, long swap) {
        long at = requests + index * SIZE;
        ALL.set(JAVA_LONG, at + ATOMIC_ADDRESS, remoteAddress);
        ALL.set(JAVA_LONG, at + ATOMIC_COMPARE_ADD, compareAdd);
        ALL.set(JAVA_LONG, at + ATOMIC_SWAP, swap);
        ALL.set(JAVA_INT, at + ATOMIC_KEY, rkey);
        return this;
    }

    /**
     * Sets a SEND.
     *
     * @param index from 0
     * @param wrId comes back in the completion
     * @param region the memory with the data
     * @param offset where the data begins in the region
     * @param length bytes; 0 sends an empty message
     * @param flags how it is carried out
     * @return this
     * @throws IndexOutOfBoundsException outside of the list or the region
     */
    public SendRequests send(int index, long wrId, MemoryRegion region, long offset, int length, SendFlag... flags) {
        lock();
        try {
            return request(index, SEND, wrId, requireMemory(region), offset, length, flags);
        } finally {
            unlock();
        }
    }

    SendRequests sendEmpty(int index, long wrId, SendFlag... flags) {
        lock();
        try {
            return request(index, SEND, wrId, null, 0, 0, flags);
        } finally {
            unlock();
        }
    }

    /**
     * Sets a SEND with immediate data.
     *
     * @param index from 0
     * @param wrId comes back in the completion
     * @param region the memory with the data
     * @param offset where the data begins in the region
     * @param length bytes; 0 sends an empty message
     * @param immediate host order
     * @param flags how it is carried out
     * @return this
     * @throws IndexOutOfBoundsException outside of the list or the region
     */
    public SendRequests sendWithImmediate(
            int index, long wrId, MemoryRegion region, long offset, int length, int immediate, SendFlag... flags) {
        lock();
        try {
            request(index, SEND_WITH_IMMEDIATE, wrId, requireMemory(region), offset, length, flags);
            ALL.set(NETWORK_INT, requests + index * SIZE + IMMEDIATE, immediate);
            return this;
        } finally {
            unlock();
        }
    }

    /**
     * Sets an RDMA WRITE.
     *
     * @param index from 0
     * @param wrId comes back in the completion
     * @param region the memory with the data
     * @param offset where the data begins in the region
     * @param length bytes
     * @param remoteAddress where the peer's memory is
     * @param rkey the key of the peer's memory
     * @param flags how it is carried out
     * @return this
     * @throws IndexOutOfBoundsException outside of the list or the local region
     */
    public SendRequests write(
            int index,
            long wrId,
            MemoryRegion region,
            long offset,
            int length,
            long remoteAddress,
            int rkey,
            SendFlag... flags) {
        lock();
        try {
            return request(index, WRITE, wrId, requireMemory(region), offset, length, flags)
                    .remote(index, remoteAddress, rkey);
        } finally {
            unlock();
        }
    }

    /**
     * Sets an RDMA WRITE with immediate data, which consumes a receive of the peer.
     *
     * @param index from 0
     * @param wrId comes back in the completion
     * @param region the memory with the data
     * @param offset where the data begins in the region
     * @param length bytes
     * @param remoteAddress where the peer's memory is
     * @param rkey the key of the peer's memory
     * @param immediate host order
     * @param flags how it is carried out
     * @return this
     * @throws IndexOutOfBoundsException outside of the list or the local region
     */
    public SendRequests writeWithImmediate(
            int index,
            long wrId,
            MemoryRegion region,
            long offset,
            int length,
            long remoteAddress,
            int rkey,
            int immediate,
            SendFlag... flags) {
        lock();
        try {
            request(index, WRITE_WITH_IMMEDIATE, wrId, requireMemory(region), offset, length, flags)
                    .remote(index, remoteAddress, rkey);
            ALL.set(NETWORK_INT, requests + index * SIZE + IMMEDIATE, immediate);
            return this;
        } finally {
            unlock();
        }
    }

    /**
     * Sets an RDMA READ.
     *
     * @param index from 0
     * @param wrId comes back in the completion
     * @param region the memory to read into
     * @param offset where it begins in the region
     * @param length bytes
     * @param remoteAddress where the peer's memory is
     * @param rkey the key of the peer's memory
     * @param flags how it is carried out; not INLINE
     * @return this
     * @throws IndexOutOfBoundsException outside of the list or the local region
     */
    public SendRequests read(
            int index,
            long wrId,
            MemoryRegion region,
            long offset,
            int length,
            long remoteAddress,
            int rkey,
            SendFlag... flags) {
        lock();
        try {
            return request(index, READ, wrId, requireMemory(region), offset, length, flags)
                    .remote(index, remoteAddress, rkey);
        } finally {
            unlock();
        }
    }

    /**
     * Sets an atomic fetch and add of 8 bytes.
     *
     * @param index from 0
     * @param wrId comes back in the completion
     * @param region the memory for the value that was there before, 8 bytes
     * @param offset where it begins in the region
     * @param remoteAddress where the peer's memory is, a multiple of 8
     * @param rkey the key of the peer's memory
     * @param add what is added
     * @param flags how it is carried out; not INLINE
     * @return this
     * @throws IndexOutOfBoundsException outside of the list or the local region
     */
    public SendRequests fetchAndAdd(
            int index,
            long wrId,
            MemoryRegion region,
            long offset,
            long remoteAddress,
            int rkey,
            long add,
            SendFlag... flags) {
        lock();
        try {
            return request(index, FETCH_AND_ADD, wrId, requireMemory(region), offset, 8, flags)
                    .atomic(index, remoteAddress, rkey, add, 0);
        } finally {
            unlock();
        }
    }

    /**
     * Sets an atomic compare and swap of 8 bytes.
     *
     * @param index from 0
     * @param wrId comes back in the completion
     * @param region the memory for the value that was there before, 8 bytes
     * @param offset where it begins in the region
     * @param remoteAddress where the peer's memory is, a multiple of 8
     * @param rkey the key of the peer's memory
     * @param expected the value that must be there
     * @param swap the value that then replaces it
     * @param flags how it is carried out; not INLINE
     * @return this
     * @throws IndexOutOfBoundsException outside of the list or the local region
     */
    public SendRequests compareAndSwap(
            int index,
            long wrId,
            MemoryRegion region,
            long offset,
            long remoteAddress,
            int rkey,
            long expected,
            long swap,
            SendFlag... flags) {
        lock();
        try {
            return request(index, COMPARE_AND_SWAP, wrId, requireMemory(region), offset, 8, flags)
                    .atomic(index, remoteAddress, rkey, expected, swap);
        } finally {
            unlock();
        }
    }

    /**
     * Sets a SEND of a datagram.
     *
     * @param index from 0
     * @param wrId comes back in the completion
     * @param region the memory with the data
     * @param offset where the data begins in the region
     * @param length bytes, at most the path MTU
     * @param destination where to
     * @param remoteQp the destination's queue pair
     * @param qkey the destination's queue key
     * @param flags how it is carried out
     * @return this
     * @throws IndexOutOfBoundsException outside of the list or the region
     */
    public SendRequests sendTo(
            int index,
            long wrId,
            MemoryRegion region,
            long offset,
            int length,
            AddressHandle destination,
            int remoteQp,
            int qkey,
            SendFlag... flags) {
        lock();
        try {
            Objects.requireNonNull(destination, "destination");
            return request(index, SEND, wrId, requireMemory(region), offset, length, flags)
                    .to(index, destination, remoteQp, qkey);
        } finally {
            unlock();
        }
    }

    /**
     * Sets a SEND of a datagram with immediate data.
     *
     * @param index from 0
     * @param wrId comes back in the completion
     * @param region the memory with the data
     * @param offset where the data begins in the region
     * @param length bytes, at most the path MTU
     * @param destination where to
     * @param remoteQp the destination's queue pair
     * @param qkey the destination's queue key
     * @param immediate host order
     * @param flags how it is carried out
     * @return this
     * @throws IndexOutOfBoundsException outside of the list or the region
     */
    public SendRequests sendToWithImmediate(
            int index,
            long wrId,
            MemoryRegion region,
            long offset,
            int length,
            AddressHandle destination,
            int remoteQp,
            int qkey,
            int immediate,
            SendFlag... flags) {
        lock();
        try {
            Objects.requireNonNull(destination, "destination");
            request(index, SEND_WITH_IMMEDIATE, wrId, requireMemory(region), offset, length, flags)
                    .to(index, destination, remoteQp, qkey);
            ALL.set(NETWORK_INT, requests + index * SIZE + IMMEDIATE, immediate);
            return this;
        } finally {
            unlock();
        }
    }

    /**
     * Sets a SEND that invalidates a key of the peer's memory, usually the key of a window of type 2. The key is invalid as soon
     * as the peer's receive completes (IBTA volume 1, section 10.7.4). RC only.
     *
     * @param index from 0
     * @param wrId comes back in the completion
     * @param region the memory with the data
     * @param offset where the data begins in the region
     * @param length bytes; 0 sends an empty message
     * @param rkey the key, as the peer gave it
     * @param flags how it is carried out
     * @return this
     * @throws IndexOutOfBoundsException outside of the list or the region
     */
    public SendRequests sendWithInvalidate(
            int index, long wrId, MemoryRegion region, long offset, int length, int rkey, SendFlag... flags) {
        lock();
        try {
            SendRequests set = request(index, SEND_WITH_INVALIDATE, wrId, requireMemory(region), offset, length, flags);
            ALL.set(JAVA_INT, requests + index * SIZE + IMMEDIATE, rkey);
            return set;
        } finally {
            unlock();
        }
    }

    /**
     * Sets an invalidation of a key of this side, usually the key of a window of type 2 (IBV_WR_LOCAL_INV).
     *
     * @param index from 0
     * @param wrId comes back in the completion
     * @param rkey the key
     * @param flags how it is carried out; not INLINE
     * @return this
     * @throws IndexOutOfBoundsException outside of the list
     */
    public SendRequests invalidate(int index, long wrId, int rkey, SendFlag... flags) {
        lock();
        try {
            SendRequests set = request(index, LOCAL_INVALIDATE, wrId, null, 0, 0, flags);
            ALL.set(JAVA_INT, requests + index * SIZE + IMMEDIATE, rkey);
            return set;
        } finally {
            unlock();
        }
    }

    /**
     * Sets a bind of a memory window of type 2 (IBV_WR_BIND_MW). {@link QueuePair#postBind} chooses the key by itself, and takes
     * windows of type 1 too.
     *
     * @param index from 0
     * @param wrId comes back in the completion
     * @param window the window, not bound
     * @param rkey the new key: the window's present key with other lowest 8 bits
     * @param region the region that contains the window
     * @param offset where it begins in the region
     * @param length bytes, from 1
     * @param access what the peer may do: REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC
     * @param flags how it is carried out; not INLINE
     * @return this
     * @throws IndexOutOfBoundsException outside of the list or the region
     * @throws IllegalArgumentException if the window is not of type 2
     */
    public SendRequests bind(
            int index,
            long wrId,
            MemoryWindow window,
            int rkey,
            MemoryRegion region,
            long offset,
            long length,
            Set<Access> access,
            SendFlag... flags) {
        if (window.type() != MemoryWindow.Type.TYPE_2) {
            throw new IllegalArgumentException(
                    window.describe() + " is of type 1: it is bound by QueuePair.postBind, and not by a list");
        }
        Objects.checkFromIndexSize(offset, length, requireMemory(region).size());
        lock();
        try {
            int mask = Access.mask(access);
            SendRequests set = request(index, BIND_MEMORY_WINDOW, wrId, null, 0, 0, flags);
            @Nullable MemoryWindow[] itsWindows = windows;
            @Nullable MemoryRegion[] itsRegions = bound;
            if (itsWindows == null || itsRegions == null) {
                itsWindows = new MemoryWindow[capacity];
                itsRegions = new MemoryRegion[capacity];
                windows = itsWindows;
                bound = itsRegions;
                formerKeys = new int[capacity];
            }
            itsWindows[index] = window;
            itsRegions[index] = region;
            binds++;
            long at = requests + index * SIZE;
            ALL.set(JAVA_LONG, at + BIND_WINDOW, window.address);
            ALL.set(JAVA_INT, at + BIND_KEY, rkey);
            ALL.set(JAVA_LONG, at + BIND_REGION, region.handle.address());
            ALL.set(JAVA_LONG, at + BIND_ADDRESS, region.address(offset));
            ALL.set(JAVA_LONG, at + BIND_LENGTH, length);
            ALL.set(JAVA_INT, at + BIND_ACCESS, mask);
            return set;
        } finally {
            unlock();
        }
    }

    private void unbind(int index) {
        @Nullable MemoryWindow[] itsWindows = windows;
        @Nullable MemoryRegion[] itsRegions = bound;
        if (itsWindows != null && itsRegions != null && itsWindows[index] != null) {
            itsWindows[index] = null;
            itsRegions[index] = null;
            binds--;
        }
    }

    private SendRequests to(int index, AddressHandle destination, int remoteQp, int qkey) {
        addressHandles[index] = destination;
        destinations++;
        ALL.set(JAVA_LONG, requests + index * SIZE + UD_AH, destination.address);
        ALL.set(JAVA_INT, requests + index * SIZE + UD_QP, remoteQp);
        ALL.set(JAVA_INT, requests + index * SIZE + UD_KEY, qkey);
        return this;
    }

    /**
     * Adds a segment to a request.
     *
     * @param index the request
     * @param region the memory
     * @param offset where it begins in the region
     * @param length bytes
     * @return this
     */
    public SendRequests add(int index, MemoryRegion region, long offset, int length) {
        lock();
        try {
            addSegment(index, region, offset, length);
            return this;
        } finally {
            unlock();
        }
    }

    /**
     * Changes the remote address of a write, read or atomic, without allocation.
     *
     * @param index the request
     * @param remoteAddress where the peer's memory is
     */
    public void remoteAddress(int index, long remoteAddress) {
        lock();
        try {
            switch (opcode(index)) {
                case WRITE, WRITE_WITH_IMMEDIATE, READ ->
                    ALL.set(JAVA_LONG, requests + index * SIZE + RDMA_ADDRESS, remoteAddress);
                case FETCH_AND_ADD, COMPARE_AND_SWAP ->
                    ALL.set(JAVA_LONG, requests + index * SIZE + ATOMIC_ADDRESS, remoteAddress);
                default -> throw new IllegalStateException("request " + index + " has no remote address");
            }
        } finally {
            unlock();
        }
    }

    /**
     * Sets the shared receive queue that a request of an XRC initiator goes to, without allocation. Reads and atomics need it as
     * well.
     *
     * @param index the request
     * @param number the {@link SharedReceiveQueue#xrcNumber()} of the peer's queue
     * @return this
     */
    public SendRequests sharedReceiveQueue(int index, int number) {
        lock();
        try {
            ALL.set(JAVA_INT, requests + checkSet(index) * SIZE + REMOTE_SRQ, number);
            return this;
        } finally {
            unlock();
        }
    }

    /**
     * Changes the immediate data, without allocation.
     *
     * @param index the request
     * @param immediate host order
     */
    public void immediate(int index, int immediate) {
        lock();
        try {
            int opcode = opcode(index);
            if (opcode != SEND_WITH_IMMEDIATE && opcode != WRITE_WITH_IMMEDIATE) {
                throw new IllegalStateException("request " + index + " has no immediate data");
            }
            ALL.set(NETWORK_INT, requests + index * SIZE + IMMEDIATE, immediate);
        } finally {
            unlock();
        }
    }

    /**
     * Changes the flags.
     *
     * @param index the request
     * @param flags how it is carried out
     */
    public void flags(int index, SendFlag... flags) {
        lock();
        try {
            setFlags(checkSet(index), SendFlag.mask(flags));
        } finally {
            unlock();
        }
    }

    /**
     * Changes whether a request completes also on success, without allocation.
     *
     * @param index the request
     * @param signaled whether it does
     */
    public void signaled(int index, boolean signaled) {
        lock();
        try {
            long at = requests + checkSet(index) * SIZE + FLAGS;
            int flags = ALL.get(JAVA_INT, at);
            int bit = SendFlag.SIGNALED.bit();
            ALL.set(JAVA_INT, at, signaled ? flags | bit : flags & ~bit);
            setSilent(index, !signaled);
        } finally {
            unlock();
        }
    }

    private int opcode(int index) {
        return ALL.get(JAVA_INT, requests + checkSet(index) * SIZE + OPCODE);
    }

    /**
     * Posts requests to a queue pair that the caller holds. The provider reads address handles, windows and inline data while it
     * posts, so they are held open during the call. The method refuses a request of the wrong service, because the provider would
     * follow an invalid pointer.
     *
     * @return how many of them are not signaled
     */
    int post(QueuePair queuePair, DeviceContext context, int from, int count) {
        lock();
        try {
            checkRange(from, count);
            checkRequests(from, count, queuePair, queuePair.protectionDomain());
            if (inlines == 0 && destinations == 0 && binds == 0 && !queuePair.isDatagram()) {
                downcall(CALL, queuePair, context.postSend, queuePair.postsInUserSpace, from, count);
            } else {
                for (int i = from; i < from + count; i++) {
                    checkTarget(i, queuePair, queuePair.isDatagram());
                }
                holdAndPost(queuePair, context, from, count);
            }
            return countSilent(from, count);
        } finally {
            unlock();
        }
    }

    private void checkTarget(int index, QueuePair queuePair, boolean datagrams) {
        AddressHandle destination = addressHandles[index];
        if (datagrams != (destination != null)) {
            throw new IllegalArgumentException("request " + index + " "
                    + (datagrams ? "has no destination" : "has a destination of datagrams") + ", but "
                    + queuePair.describe() + " is of type " + queuePair.type());
        }
        if (destination != null) {
            requireSameDevice("the destination of request " + index, destination.protectionDomain(), queuePair);
        }
        @Nullable MemoryWindow[] itsWindows = windows;
        MemoryWindow window = itsWindows == null ? null : itsWindows[index];
        if (window != null) {
            requireSameDevice("the window of request " + index, window.protectionDomain(), queuePair);
        }
        @Nullable MemoryRegion[] itsRegions = bound;
        MemoryRegion region = itsRegions == null ? null : itsRegions[index];
        if (region != null) {
            requireSameDevice("the bound region of request " + index, region.protectionDomain(), queuePair);
        }
    }

    private static void requireSameDevice(String what, ProtectionDomain its, QueuePair queuePair) {
        if (its.context().address != queuePair.protectionDomain().context().address) {
            throw new IllegalArgumentException(what + " is not of the device of " + queuePair.describe());
        }
    }

    private void holdAndPost(QueuePair queuePair, DeviceContext context, int from, int count) {
        int held = 0;
        int given = 0;
        int posted = 0;
        try {
            for (; held < count; held++) {
                hold(from + held);
            }
            giveKeys(from, count);
            given = count;
            downcall(CALL, queuePair, context.postSend, queuePair.postsInUserSpace, from, count);
            posted = count;
        } catch (PostException e) {
            posted = Math.max(0, e.badIndex());
            throw e;
        } finally {
            keepKeys(from, posted, given);
            for (int i = from; i < from + held; i++) {
                release(i, places(i));
            }
        }
    }

    private void giveKeys(int from, int count) {
        @Nullable MemoryWindow[] itsWindows = windows;
        int[] former = formerKeys;
        for (int i = from; itsWindows != null && former != null && i < from + count; i++) {
            MemoryWindow window = itsWindows[i];
            if (window != null) {
                former[i] = window.bindTo(bindKey(i));
            }
        }
    }

    /**
     * Restores the keys of requests that were not posted, the last one first. Stores the keys of the posted requests for the
     * provider.
     */
    private void keepKeys(int from, int posted, int given) {
        @Nullable MemoryWindow[] itsWindows = windows;
        int[] former = formerKeys;
        if (itsWindows == null || former == null) {
            return;
        }
        for (int i = from + given - 1; i >= from + posted; i--) {
            MemoryWindow window = itsWindows[i];
            if (window != null) {
                window.notBoundTo(bindKey(i), former[i]);
            }
        }
        for (int i = from; i < from + posted; i++) {
            MemoryWindow window = itsWindows[i];
            if (window != null) {
                window.bound(bindKey(i));
            }
        }
    }

    private int bindKey(int index) {
        return ALL.get(JAVA_INT, requests + index * SIZE + BIND_KEY);
    }

    /** Holds all objects that the provider reads while it posts a request, or none of them. */
    private void hold(int index) {
        int places = places(index);
        int held = 0;
        try {
            for (; held < places; held++) {
                VerbsObject object = at(index, held);
                if (object instanceof MemoryRegion region && region.isLost()) {
                    throw new IllegalStateException(
                            "request " + index + " uses " + region.describe() + ", whose memory its owner has freed");
                }
                // The provider does not read the region of a bind.
                if (held >= NO_SEGMENTS && object instanceof MemoryRegion region && !region.isReadByCpu()) {
                    throw new IllegalArgumentException("request " + index + " sends inline from " + region.describe()
                            + ", which may have memory that the processor can't read: send it without INLINE");
                }
                if (object != null) {
                    boolean ignored = object.beginOften();
                }
            }
        } finally {
            if (held < places) {
                release(index, held);
            }
        }
    }

    private void release(int index, int places) {
        for (int place = 0; place < places; place++) {
            VerbsObject object = at(index, place);
            if (object != null) {
                object.endOften();
            }
        }
    }

    private int places(int index) {
        return inlined[index] ? NO_SEGMENTS + maxSegments : NO_SEGMENTS;
    }

    private @Nullable VerbsObject at(int index, int place) {
        @Nullable MemoryWindow[] itsWindows = windows;
        @Nullable MemoryRegion[] itsRegions = bound;
        return switch (place) {
            case 0 -> addressHandles[index];
            case 1 -> itsWindows == null ? null : itsWindows[index];
            case 2 -> itsRegions == null ? null : itsRegions[index];
            default -> regions[index * maxSegments + place - NO_SEGMENTS];
        };
    }
}
