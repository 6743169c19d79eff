package io.rdmatest.verbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdmatest.ffi.ibv_send_wr;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
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

    private static final int WRITE = 0;
    private static final int WRITE_WITH_IMMEDIATE = 1;
    private static final int SEND = 2;
    private static final int SEND_WITH_IMMEDIATE = 3;
    private static final int READ = 4;
    private static final int COMPARE_AND_SWAP = 5;
    private static final int FETCH_AND_ADD = 6;

    private final @Nullable AddressHandle[] addressHandles;

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
        addressHandles[index] = null;
        long at = index * SIZE;
        requests.set(JAVA_INT, at + OPCODE, opcode);
        requests.set(JAVA_INT, at + FLAGS, mask);
        requests.set(JAVA_INT, at + IMMEDIATE, 0);
        requests.asSlice(at + RDMA_ADDRESS, SIZE - RDMA_ADDRESS).fill((byte) 0);
        return this;
    }

    private SendRequests remote(int index, long remoteAddress, int rkey) {
        requests.set(JAVA_LONG, index * SIZE + RDMA_ADDRESS, remoteAddress);
        requests.set(JAVA_INT, index * SIZE + RDMA_KEY, rkey);
        return this;
    }

    private SendRequests atomic(int index, long remoteAddress, int rkey, long compareAdd, long swap) {
        long at = index * SIZE;
        requests.set(JAVA_LONG, at + ATOMIC_ADDRESS, remoteAddress);
        requests.set(JAVA_LONG, at + ATOMIC_COMPARE_ADD, compareAdd);
        requests.set(JAVA_LONG, at + ATOMIC_SWAP, swap);
        requests.set(JAVA_INT, at + ATOMIC_KEY, rkey);
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
    public synchronized SendRequests send(
            int index, long wrId, MemoryRegion region, long offset, int length, SendFlag... flags) {
        return request(index, SEND, wrId, requireMemory(region), offset, length, flags);
    }

    synchronized SendRequests sendEmpty(int index, long wrId, SendFlag... flags) {
        return request(index, SEND, wrId, null, 0, 0, flags);
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
    public synchronized SendRequests sendWithImmediate(
            int index, long wrId, MemoryRegion region, long offset, int length, int immediate, SendFlag... flags) {
        request(index, SEND_WITH_IMMEDIATE, wrId, requireMemory(region), offset, length, flags);
        requests.set(NETWORK_INT, index * SIZE + IMMEDIATE, immediate);
        return this;
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
    public synchronized SendRequests write(
            int index,
            long wrId,
            MemoryRegion region,
            long offset,
            int length,
            long remoteAddress,
            int rkey,
            SendFlag... flags) {
        return request(index, WRITE, wrId, requireMemory(region), offset, length, flags)
                .remote(index, remoteAddress, rkey);
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
    public synchronized SendRequests writeWithImmediate(
            int index,
            long wrId,
            MemoryRegion region,
            long offset,
            int length,
            long remoteAddress,
            int rkey,
            int immediate,
            SendFlag... flags) {
        request(index, WRITE_WITH_IMMEDIATE, wrId, requireMemory(region), offset, length, flags)
                .remote(index, remoteAddress, rkey);
        requests.set(NETWORK_INT, index * SIZE + IMMEDIATE, immediate);
        return this;
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
    public synchronized SendRequests read(
            int index,
            long wrId,
            MemoryRegion region,
            long offset,
            int length,
            long remoteAddress,
            int rkey,
            SendFlag... flags) {
        return request(index, READ, wrId, requireMemory(region), offset, length, flags)
                .remote(index, remoteAddress, rkey);
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
    public synchronized SendRequests fetchAndAdd(
            int index,
            long wrId,
            MemoryRegion region,
            long offset,
            long remoteAddress,
            int rkey,
            long add,
            SendFlag... flags) {
        return request(index, FETCH_AND_ADD, wrId, requireMemory(region), offset, 8, flags)
                .atomic(index, remoteAddress, rkey, add, 0);
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
    public synchronized SendRequests compareAndSwap(
            int index,
            long wrId,
            MemoryRegion region,
            long offset,
            long remoteAddress,
            int rkey,
            long expected,
            long swap,
            SendFlag... flags) {
        return request(index, COMPARE_AND_SWAP, wrId, requireMemory(region), offset, 8, flags)
                .atomic(index, remoteAddress, rkey, expected, swap);
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
    public synchronized SendRequests sendTo(
            int index,
            long wrId,
            MemoryRegion region,
            long offset,
            int length,
            AddressHandle destination,
            int remoteQp,
            int qkey,
            SendFlag... flags) {
        Objects.requireNonNull(destination, "destination");
        return request(index, SEND, wrId, requireMemory(region), offset, length, flags)
                .to(index, destination, remoteQp, qkey);
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
    public synchronized SendRequests sendToWithImmediate(
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
        Objects.requireNonNull(destination, "destination");
        request(index, SEND_WITH_IMMEDIATE, wrId, requireMemory(region), offset, length, flags)
                .to(index, destination, remoteQp, qkey);
        requests.set(NETWORK_INT, index * SIZE + IMMEDIATE, immediate);
        return this;
    }

    private SendRequests to(int index, AddressHandle destination, int remoteQp, int qkey) {
        addressHandles[index] = destination;
        requests.set(JAVA_LONG, index * SIZE + UD_AH, destination.address);
        requests.set(JAVA_INT, index * SIZE + UD_QP, remoteQp);
        requests.set(JAVA_INT, index * SIZE + UD_KEY, qkey);
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
    public synchronized SendRequests add(int index, MemoryRegion region, long offset, int length) {
        addSegment(index, region, offset, length);
        return this;
    }

    /**
     * Changes a request's identifier, without allocation.
     *
     * @param index the request
     * @param wrId comes back in the completion
     */
    public synchronized void wrId(int index, long wrId) {
        setWrId(index, wrId);
    }

    /**
     * Changes where a request's first segment lies in its region, without allocation.
     *
     * @param index the request
     * @param offset where it begins in the region
     * @param length bytes
     */
    public synchronized void segment(int index, long offset, int length) {
        moveSegment(index, offset, length);
    }

    /**
     * Changes the remote address of a write, read or atomic, without allocation.
     *
     * @param index the request
     * @param remoteAddress where the peer's memory is
     */
    public synchronized void remoteAddress(int index, long remoteAddress) {
        switch (opcode(index)) {
            case WRITE, WRITE_WITH_IMMEDIATE, READ ->
                requests.set(JAVA_LONG, index * SIZE + RDMA_ADDRESS, remoteAddress);
            case FETCH_AND_ADD, COMPARE_AND_SWAP ->
                requests.set(JAVA_LONG, index * SIZE + ATOMIC_ADDRESS, remoteAddress);
            default -> throw new IllegalStateException("request " + index + " is a send: it has no remote address");
        }
    }

    /**
     * Changes the immediate data, without allocation.
     *
     * @param index the request
     * @param immediate host order
     */
    public synchronized void immediate(int index, int immediate) {
        int opcode = opcode(index);
        if (opcode != SEND_WITH_IMMEDIATE && opcode != WRITE_WITH_IMMEDIATE) {
            throw new IllegalStateException("request " + index + " has no immediate data");
        }
        requests.set(NETWORK_INT, index * SIZE + IMMEDIATE, immediate);
    }

    /**
     * Changes the flags.
     *
     * @param index the request
     * @param flags how it is carried out
     */
    public synchronized void flags(int index, SendFlag... flags) {
        requests.set(JAVA_INT, checkSet(index) * SIZE + FLAGS, SendFlag.mask(flags));
    }

    /**
     * Changes whether a request completes also on success, without allocation.
     *
     * @param index the request
     * @param signaled whether it does
     */
    public synchronized void signaled(int index, boolean signaled) {
        long at = checkSet(index) * SIZE + FLAGS;
        int flags = requests.get(JAVA_INT, at);
        int bit = SendFlag.SIGNALED.bit();
        requests.set(JAVA_INT, at, signaled ? flags | bit : flags & ~bit);
    }

    private int opcode(int index) {
        return requests.get(JAVA_INT, checkSet(index) * SIZE + OPCODE);
    }

    private boolean isInline(int index) {
        return (requests.get(JAVA_INT, index * SIZE + FLAGS) & SendFlag.INLINE.bit()) != 0;
    }

    /**
     * Posts requests. The provider reads address handles and inline data while it posts: they are held open meanwhile. A
     * request of the wrong service would make it follow a pointer that is none: that is refused here.
     */
    synchronized void post(QueuePair queuePair, MemorySegment function, int from, int count) {
        checkRange(from, count);
        boolean datagrams = queuePair.type() == QpType.UD;
        boolean holding = datagrams;
        for (int i = from; i < from + count; i++) {
            checkRegions(checkSet(i));
            checkDestination(i, queuePair, datagrams);
            holding |= isInline(i);
        }
        if (holding) {
            holdAndPost(queuePair, function, from, count);
        } else {
            downcall("ibv_post_send", queuePair, function, from, count);
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

    /** A method of its own: its loops, with nothing to hold, made each post slower. */
    private void holdAndPost(QueuePair queuePair, MemorySegment function, int from, int count) {
        int held = 0;
        try {
            for (int i = from; i < from + count; i++) {
                AddressHandle destination = addressHandles[i];
                if (destination != null) {
                    destination.begin();
                }
                held++;
                if (isInline(i)) {
                    int regionsHeld = 0;
                    try {
                        for (; regionsHeld < maxSegments; regionsHeld++) {
                            hold(i, regionsHeld);
                        }
                    } finally {
                        if (regionsHeld < maxSegments) {
                            letGo(i, regionsHeld);
                            if (destination != null) {
                                destination.end();
                            }
                            held--;
                        }
                    }
                }
            }
            downcall("ibv_post_send", queuePair, function, from, count);
        } finally {
            for (int i = from; i < from + held; i++) {
                AddressHandle destination = addressHandles[i];
                if (isInline(i)) {
                    letGo(i, maxSegments);
                }
                if (destination != null) {
                    destination.end();
                }
            }
        }
    }

    private void hold(int index, int place) {
        MemoryRegion region = regions[index * maxSegments + place];
        if (region != null) {
            region.begin();
        }
    }

    private void letGo(int index, int places) {
        for (int i = 0; i < places; i++) {
            MemoryRegion region = regions[index * maxSegments + i];
            if (region != null) {
                region.end();
            }
        }
    }
}
