package io.rdmatest.internal;

import static io.rdmatest.ffi.rdma_h.C_POINTER;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdmatest.ffi.pollfd;
import io.rdmatest.ffi.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** A poll(2) for file descriptors of the RDMA libraries. For one thread at a time. */
public final class Descriptors {

    private static final Downcall FCNTL = Downcall.variadic("fcntl", 2, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);
    private static final long SIZE = pollfd.sizeof();

    private static final Downcall POLL = Downcall.of("poll", JAVA_INT, C_POINTER, JAVA_LONG, JAVA_INT);

    /** A constant for the JIT compiler: waits are frequent and allocate nothing. */
    private static final class Waiting {
        static final MethodHandle POLL = Descriptors.POLL.handle();
    }

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
        try {
            int ready = (int) Waiting.POLL.invokeExact(Native.errnoState(), entries, count, millis);
            if (ready < 0 && Native.errno() != rdma_h.EINTR()) {
                throw Native.failure("poll", count + " descriptors");
            }
            return ready > 0;
        } catch (Throwable e) {
            throw Native.unchecked("poll", e);
        }
    }

    /**
     * Makes a file descriptor non-blocking, so that no public method hangs in a read.
     *
     * @param fd the descriptor
     * @throws io.rdmatest.RdmaException if fcntl(2) fails
     */
    public static void makeNonBlocking(int fd) {
        try {
            int flags = (int) FCNTL.handle().invokeExact(Native.errnoState(), fd, rdma_h.F_GETFL(), 0);
            if (flags < 0) {
                throw Native.failure("fcntl", "F_GETFL");
            }
            int done = (int)
                    FCNTL.handle().invokeExact(Native.errnoState(), fd, rdma_h.F_SETFL(), flags | rdma_h.O_NONBLOCK());
            if (done < 0) {
                throw Native.failure("fcntl", "F_SETFL, O_NONBLOCK");
            }
        } catch (Throwable e) {
            throw Native.unchecked("fcntl", e);
        }
    }
}
