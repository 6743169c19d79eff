package io.rdmatest.internal;

import io.rdmatest.ffi.pollfd;
import io.rdmatest.ffi.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** Waits for file descriptors of the RDMA libraries, poll(2). For one thread at a time. */
public final class Descriptors {

    private static final MethodHandle POLL = Native.capturing(rdma_h.poll$address(), rdma_h.poll$descriptor());
    private static final long SIZE = pollfd.sizeof();

    /** The kernel writes here only during the call, so the collector may own it. */
    private final MemorySegment entries;

    private final long count;

    /**
     * Prepares a wait.
     *
     * @param fds what to wait for, at least one
     */
    public Descriptors(int... fds) {
        count = fds.length;
        entries = Arena.ofAuto().allocate(SIZE * fds.length, 8);
        for (int i = 0; i < fds.length; i++) {
            MemorySegment entry = entries.asSlice(i * SIZE, SIZE);
            pollfd.fd(entry, fds[i]);
            pollfd.events(entry, (short) rdma_h.POLLIN());
        }
    }

    /**
     * Waits until one is readable; an interrupted call counts as one in which none was. Allocates nothing.
     *
     * @param millis how long at most; 0 to look only
     * @return whether one is readable
     */
    public boolean awaitReadable(int millis) {
        try {
            int ready = (int) POLL.invokeExact(Native.errnoState(), entries, count, millis);
            if (ready < 0 && Native.errno() != rdma_h.EINTR()) {
                throw Native.failure("poll", count + " descriptors");
            }
            return ready > 0;
        } catch (Throwable e) {
            throw Native.unchecked("poll", e);
        }
    }
}
