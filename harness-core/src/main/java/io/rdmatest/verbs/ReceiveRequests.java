package io.rdmatest.verbs;

import io.rdmatest.ffi.ibv_recv_wr;
import java.lang.foreign.MemorySegment;

/**
 * Prepared receive requests: a native array that is posted, as a whole or in part, with one downcall and no allocation
 * (ibv_post_recv(3)). Requests are independent of a queue and can be posted again and again.
 */
public final class ReceiveRequests extends WorkRequests {

    private ReceiveRequests(int capacity, int maxSegments) {
        super(
                capacity,
                maxSegments,
                ibv_recv_wr.sizeof(),
                ibv_recv_wr.wr_id$offset(),
                ibv_recv_wr.next$offset(),
                ibv_recv_wr.sg_list$offset(),
                ibv_recv_wr.num_sge$offset());
    }

    /**
     * Allocates requests of one segment.
     *
     * @param capacity how many, from 1
     * @return the list; each request has to be set before it is posted
     */
    public static ReceiveRequests allocate(int capacity) {
        return new ReceiveRequests(capacity, 1);
    }

    /**
     * Allocates requests.
     *
     * @param capacity how many, from 1
     * @param maxSegments segments of a request, from 1
     * @return the list; each request has to be set before it is posted
     */
    public static ReceiveRequests allocate(int capacity, int maxSegments) {
        return new ReceiveRequests(capacity, maxSegments);
    }

    /**
     * Sets a request.
     *
     * @param index from 0
     * @param wrId comes back in the completion
     * @param region the memory to receive into
     * @param offset where it begins in the region
     * @param length bytes; UD needs 40 more than the payload
     * @return this
     * @throws IndexOutOfBoundsException outside of the list or the region
     */
    public ReceiveRequests receive(int index, long wrId, MemoryRegion region, long offset, int length) {
        lock();
        try {
            begin(index, wrId, requireMemory(region), offset, length);
            return this;
        } finally {
            unlock();
        }
    }

    /** Sets a request without memory: for immediate data, or as a mark in the queue. */
    ReceiveRequests empty(int index, long wrId) {
        lock();
        try {
            begin(index, wrId, null, 0, 0);
            return this;
        } finally {
            unlock();
        }
    }

    /**
     * Adds a segment to a request.
     *
     * @param index the request
     * @param region the memory to receive into
     * @param offset where it begins in the region
     * @param length bytes
     * @return this
     */
    public ReceiveRequests add(int index, MemoryRegion region, long offset, int length) {
        lock();
        try {
            addSegment(index, region, offset, length);
            return this;
        } finally {
            unlock();
        }
    }

    /** Posts requests to a queue of a protection domain. The caller holds the queue. */
    void post(
            String call,
            VerbsObject queue,
            ProtectionDomain domain,
            MemorySegment function,
            boolean inUserSpace,
            int from,
            int count) {
        lock();
        try {
            checkRange(from, count);
            checkRequests(from, count, queue, domain);
            downcall(call, queue, function, inUserSpace, from, count);
        } finally {
            unlock();
        }
    }
}
