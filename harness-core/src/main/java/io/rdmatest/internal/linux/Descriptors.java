package io.rdmatest.internal.linux;

import io.rdmatest.ffi.pollfd;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.internal.Libc;
import io.rdmatest.internal.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** A poll(2) for file descriptors of the RDMA libraries. For one thread at a time. */
public final class Descriptors {

    private static final long SIZE = pollfd.sizeof();

    /** GC-scoped memory is safe here: the kernel writes only during the call. */
    private final MemorySegment entries;

    private final long count;

    /**
     * Prepares a wait.
     *
     * @param fds the descriptors, at least one
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
     * Waits until a descriptor is readable. Returns false for an interrupted call. Allocates nothing.
     *
     * @param millis the timeout; 0 to return at once
     * @return whether a descriptor is readable
     */
    public boolean awaitReadable(int millis) {
        int ready = Libc.poll(entries, count, millis);
        if (ready < 0 && Native.errno() != Libc.EINTR) {
            throw NativeCalls.failure("poll", count + " descriptors");
        }
        return ready > 0;
    }

    /**
     * Makes a file descriptor non-blocking, so that no public method hangs in a read.
     *
     * @param fd the descriptor
     * @throws io.rdmatest.RdmaException if fcntl(2) fails
     */
    public static void makeNonBlocking(int fd) {
        int flags = Libc.statusFlags(fd);
        if (flags < 0) {
            throw NativeCalls.failure("fcntl", "F_GETFL");
        }
        if (Libc.setStatusFlags(fd, flags | Libc.O_NONBLOCK) < 0) {
            throw NativeCalls.failure("fcntl", "F_SETFL, O_NONBLOCK");
        }
    }
}
