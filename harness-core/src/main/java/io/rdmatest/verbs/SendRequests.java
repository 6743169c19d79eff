package io.rdmatest.verbs;

import static io.rdmatest.internal.CMemory.ALL;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdmatest.ffi.ibv_send_wr;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Objects;
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
    private static final ValueLayout.OfInt NETWORK_INT = ValueLayout.JAVA_INT.withOrder(ByteOrder.BIG_ENDIAN);

    private static final String CALL = "ibv_post_send";

    private static final int WRITE = 0;
    private static final int WRITE_WITH_IMMEDIATE = 1;
    private static final int SEND = 2;
    private static final int SEND_WITH_IMMEDIATE = 3;
    private static final int READ = 4;
    private static final int COMPARE_AND_SWAP = 5;
    private static final int FETCH_AND_ADD = 6;

    private final @Nullable AddressHandle[] addressHandles;
    private final boolean[] inlined;
    /** How many requests have a destination, and how many are inline. */
    private int destinations;

    private int inlines;

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
    }

    private static long in(String member, String field) {
        return ibv_send_wr
                .layout()
                .byteOffset(
                        PathElement.groupElement("wr"),
                        PathElement.groupElement(member),
                        PathElement.groupElement(field));
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
        // Before anything is written: a request that was refused must not look like one that is set.
        int mask = SendFlag.mask(flags);
        begin(index, wrId, region, offset, length);
        if (addressHandles[index] != null) {
            addressHandles[index] = null;
            destinations--;
        }
        long at = requests + index * SIZE;
        ALL.set(JAVA_INT, at + OPCODE, opcode);
        setFlags(index, mask);
        ALL.set(JAVA_INT, at + IMMEDIATE, 0);
        return this;
    }

    private void setFlags(int index, int mask) {
        ALL.set(JAVA_INT, requests + index * SIZE + FLAGS, mask);
        boolean inline = (mask & SendFlag.INLINE.bit()) != 0;
        if (inlined[index] != inline) {
            inlined[index] = inline;
            inlines += inline ? 1 : -1;
        }
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
                default -> throw new IllegalStateException("request " + index + " is a send: it has no remote address");
            }
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
        } finally {
            unlock();
        }
    }

    private int opcode(int index) {
        return ALL.get(JAVA_INT, requests + checkSet(index) * SIZE + OPCODE);
    }

    /**
     * Posts requests to a queue pair that the caller holds. The provider reads address handles and inline data while it posts: they
     * are held open meanwhile. A request of the wrong service would make it follow a pointer that is none: that is refused here.
     */
    void post(QueuePair queuePair, DeviceContext context, int from, int count) {
        lock();
        try {
            checkRange(from, count);
            checkRequests(from, count);
            if (inlines == 0 && destinations == 0 && !queuePair.isDatagram()) {
                downcall(CALL, queuePair, context.postSend, context.postsInUserSpace, from, count);
            } else {
                for (int i = from; i < from + count; i++) {
                    checkDestination(i, queuePair, queuePair.isDatagram());
                }
                holdAndPost(queuePair, context, from, count);
            }
        } finally {
            unlock();
        }
    }

    private void checkDestination(int index, QueuePair queuePair, boolean datagrams) {
        AddressHandle destination = addressHandles[index];
        if (datagrams != (destination != null)) {
            throw new IllegalArgumentException("request " + index + " "
                    + (datagrams ? "has no destination" : "has a destination of datagrams") + ", but "
                    + queuePair.describe() + " is of type " + queuePair.type());
        }
        if (destination != null
                && destination.protectionDomain().context().address
                        != queuePair.protectionDomain().context().address) {
            throw new IllegalArgumentException(
                    "the destination of request " + index + " is not of the device of " + queuePair.describe());
        }
    }

    private void holdAndPost(QueuePair queuePair, DeviceContext context, int from, int count) {
        int held = 0;
        try {
            for (int i = from; i < from + count; i++) {
                AddressHandle destination = addressHandles[i];
                if (destination != null) {
                    destination.beginOften();
                }
                held++;
                if (inlined[i]) {
                    int regionsHeld = 0;
                    try {
                        for (; regionsHeld < maxSegments; regionsHeld++) {
                            hold(i, regionsHeld);
                        }
                    } finally {
                        if (regionsHeld < maxSegments) {
                            release(i, regionsHeld);
                            if (destination != null) {
                                destination.endOften();
                            }
                            held--;
                        }
                    }
                }
            }
            downcall(CALL, queuePair, context.postSend, context.postsInUserSpace, from, count);
        } finally {
            for (int i = from; i < from + held; i++) {
                AddressHandle destination = addressHandles[i];
                if (inlined[i]) {
                    release(i, maxSegments);
                }
                if (destination != null) {
                    destination.endOften();
                }
            }
        }
    }

    private void hold(int index, int place) {
        MemoryRegion region = regions[index * maxSegments + place];
        if (region != null) {
            if (region.isLost()) {
                throw new IllegalStateException("request " + index + " is inline and uses " + region.describe()
                        + ", whose memory its owner has freed");
            }
            region.beginOften();
        }
    }

    private void release(int index, int places) {
        for (int i = 0; i < places; i++) {
            MemoryRegion region = regions[index * maxSegments + i];
            if (region != null) {
                region.endOften();
            }
        }
    }
}
