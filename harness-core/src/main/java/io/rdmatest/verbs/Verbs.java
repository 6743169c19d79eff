package io.rdmatest.verbs;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdmatest.RdmaException;
import io.rdmatest.ffi.pollfd;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.ffi.rlimit;
import io.rdmatest.ffi.verbs_context;
import io.rdmatest.internal.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.ByteOrder;
import java.time.Duration;

/**
 * The downcalls of this package. To be touched only after {@link Native#requireLibraries()}.
 *
 * <p>Verbs that return an int return the errno itself, some of them -1 with errno set; {@link #check} takes both.
 */
final class Verbs {

    static final MethodHandle GET_DEVICE_LIST =
            Native.capturing(rdma_h.ibv_get_device_list$address(), rdma_h.ibv_get_device_list$descriptor());
    static final MethodHandle OPEN_DEVICE =
            Native.capturing(rdma_h.ibv_open_device$address(), rdma_h.ibv_open_device$descriptor());
    static final MethodHandle CLOSE_DEVICE =
            Native.capturing(rdma_h.ibv_close_device$address(), rdma_h.ibv_close_device$descriptor());
    static final MethodHandle QUERY_DEVICE =
            Native.capturing(rdma_h.ibv_query_device$address(), rdma_h.ibv_query_device$descriptor());
    static final MethodHandle QUERY_DEVICE_EX = Native.capturing(verbs_context.query_device_ex.descriptor());
    static final MethodHandle QUERY_PORT = Native.capturing(verbs_context.query_port.descriptor());
    static final MethodHandle QUERY_GID_TABLE =
            Native.capturing(rdma_h._ibv_query_gid_table$address(), rdma_h._ibv_query_gid_table$descriptor());
    static final MethodHandle GET_ASYNC_EVENT =
            Native.capturing(rdma_h.ibv_get_async_event$address(), rdma_h.ibv_get_async_event$descriptor());
    static final MethodHandle ALLOC_PD =
            Native.capturing(rdma_h.ibv_alloc_pd$address(), rdma_h.ibv_alloc_pd$descriptor());
    static final MethodHandle DEALLOC_PD =
            Native.capturing(rdma_h.ibv_dealloc_pd$address(), rdma_h.ibv_dealloc_pd$descriptor());
    static final MethodHandle REG_MR =
            Native.capturing(rdma_h.ibv_reg_mr_iova2$address(), rdma_h.ibv_reg_mr_iova2$descriptor());
    static final MethodHandle DEREG_MR =
            Native.capturing(rdma_h.ibv_dereg_mr$address(), rdma_h.ibv_dereg_mr$descriptor());
    static final MethodHandle CREATE_CHANNEL =
            Native.capturing(rdma_h.ibv_create_comp_channel$address(), rdma_h.ibv_create_comp_channel$descriptor());
    static final MethodHandle DESTROY_CHANNEL =
            Native.capturing(rdma_h.ibv_destroy_comp_channel$address(), rdma_h.ibv_destroy_comp_channel$descriptor());
    static final MethodHandle CREATE_CQ =
            Native.capturing(rdma_h.ibv_create_cq$address(), rdma_h.ibv_create_cq$descriptor());
    static final MethodHandle RESIZE_CQ =
            Native.capturing(rdma_h.ibv_resize_cq$address(), rdma_h.ibv_resize_cq$descriptor());
    static final MethodHandle DESTROY_CQ =
            Native.capturing(rdma_h.ibv_destroy_cq$address(), rdma_h.ibv_destroy_cq$descriptor());
    static final MethodHandle GET_CQ_EVENT =
            Native.capturing(rdma_h.ibv_get_cq_event$address(), rdma_h.ibv_get_cq_event$descriptor());
    static final MethodHandle CREATE_SRQ =
            Native.capturing(rdma_h.ibv_create_srq$address(), rdma_h.ibv_create_srq$descriptor());
    static final MethodHandle MODIFY_SRQ =
            Native.capturing(rdma_h.ibv_modify_srq$address(), rdma_h.ibv_modify_srq$descriptor());
    static final MethodHandle QUERY_SRQ =
            Native.capturing(rdma_h.ibv_query_srq$address(), rdma_h.ibv_query_srq$descriptor());
    static final MethodHandle DESTROY_SRQ =
            Native.capturing(rdma_h.ibv_destroy_srq$address(), rdma_h.ibv_destroy_srq$descriptor());
    static final MethodHandle CREATE_QP =
            Native.capturing(rdma_h.ibv_create_qp$address(), rdma_h.ibv_create_qp$descriptor());
    static final MethodHandle CREATE_QP_EX = Native.capturing(verbs_context.create_qp_ex.descriptor());
    static final MethodHandle MODIFY_QP =
            Native.capturing(rdma_h.ibv_modify_qp$address(), rdma_h.ibv_modify_qp$descriptor());
    static final MethodHandle QUERY_QP =
            Native.capturing(rdma_h.ibv_query_qp$address(), rdma_h.ibv_query_qp$descriptor());
    static final MethodHandle DESTROY_QP =
            Native.capturing(rdma_h.ibv_destroy_qp$address(), rdma_h.ibv_destroy_qp$descriptor());
    static final MethodHandle CREATE_AH =
            Native.capturing(rdma_h.ibv_create_ah$address(), rdma_h.ibv_create_ah$descriptor());
    static final MethodHandle CREATE_AH_FROM_WC =
            Native.capturing(rdma_h.ibv_create_ah_from_wc$address(), rdma_h.ibv_create_ah_from_wc$descriptor());
    static final MethodHandle DESTROY_AH =
            Native.capturing(rdma_h.ibv_destroy_ah$address(), rdma_h.ibv_destroy_ah$descriptor());
    static final MethodHandle ATTACH_MCAST =
            Native.capturing(rdma_h.ibv_attach_mcast$address(), rdma_h.ibv_attach_mcast$descriptor());
    static final MethodHandle DETACH_MCAST =
            Native.capturing(rdma_h.ibv_detach_mcast$address(), rdma_h.ibv_detach_mcast$descriptor());

    /** ibv_post_send, ibv_post_recv, ibv_post_srq_recv: function, queue, first request, where to report a bad one. */
    static final MethodHandle POST =
            Linker.nativeLinker().downcallHandle(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));

    /** ibv_poll_cq: it neither blocks nor calls back. */
    static final MethodHandle POLL_CQ = Linker.nativeLinker()
            .downcallHandle(
                    FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, ADDRESS), Linker.Option.critical(false));

    static final MethodHandle REQ_NOTIFY =
            Linker.nativeLinker().downcallHandle(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT));

    private static final MethodHandle POLL = Native.capturing(rdma_h.poll$address(), rdma_h.poll$descriptor());
    private static final MethodHandle GETRLIMIT =
            Native.capturing(rdma_h.getrlimit$address(), rdma_h.getrlimit$descriptor());
    private static final MethodHandle FCNTL = Linker.nativeLinker()
            .downcallHandle(
                    Linker.nativeLinker().defaultLookup().findOrThrow("fcntl"),
                    FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT),
                    Linker.Option.firstVariadicArg(2),
                    Linker.Option.captureCallState("errno"));
    private static final MethodHandle GETPAGESIZE = Linker.nativeLinker()
            .downcallHandle(
                    Linker.nativeLinker().defaultLookup().findOrThrow("getpagesize"), FunctionDescriptor.of(JAVA_INT));

    static final int PAGE_SIZE = pageSize();

    /** Waits are cut into slices, so that a close on another thread is noticed. */
    static final int SLICE_MILLIS = 20;

    private Verbs() {}

    /** Calls a verb of one pointer that returns a pointer. */
    static MemorySegment create(MethodHandle verb, String call, String operands, MemorySegment a) {
        MemorySegment made;
        try {
            made = (MemorySegment) verb.invokeExact(Native.errnoState(), a);
        } catch (Throwable e) {
            throw Native.unchecked(call, e);
        }
        return made(made, call, operands);
    }

    /** Calls a verb of two pointers that returns a pointer. */
    static MemorySegment create(MethodHandle verb, String call, String operands, MemorySegment a, MemorySegment b) {
        MemorySegment made;
        try {
            made = (MemorySegment) verb.invokeExact(Native.errnoState(), a, b);
        } catch (Throwable e) {
            throw Native.unchecked(call, e);
        }
        return made(made, call, operands);
    }

    static MemorySegment made(MemorySegment made, String call, String operands) {
        if (made.address() == 0) {
            throw Native.failure(call, operands);
        }
        return made;
    }

    /** Calls a verb of one pointer that returns an errno. */
    static void run(MethodHandle verb, String call, String operands, MemorySegment a) {
        int result;
        try {
            result = (int) verb.invokeExact(Native.errnoState(), a);
        } catch (Throwable e) {
            throw Native.unchecked(call, e);
        }
        check(result, call, operands);
    }

    /** Calls a verb of two pointers that returns an errno. */
    static void run(MethodHandle verb, String call, String operands, MemorySegment a, MemorySegment b) {
        int result;
        try {
            result = (int) verb.invokeExact(Native.errnoState(), a, b);
        } catch (Throwable e) {
            throw Native.unchecked(call, e);
        }
        check(result, call, operands);
    }

    /** Calls a verb of two pointers and an int that returns an errno. */
    static void run(MethodHandle verb, String call, String operands, MemorySegment a, MemorySegment b, int c) {
        int result;
        try {
            result = (int) verb.invokeExact(Native.errnoState(), a, b, c);
        } catch (Throwable e) {
            throw Native.unchecked(call, e);
        }
        check(result, call, operands);
    }

    /** Calls a verb of two pointers and a short that returns an errno. */
    static void run(MethodHandle verb, String call, String operands, MemorySegment a, MemorySegment b, short c) {
        int result;
        try {
            result = (int) verb.invokeExact(Native.errnoState(), a, b, c);
        } catch (Throwable e) {
            throw Native.unchecked(call, e);
        }
        check(result, call, operands);
    }

    static void check(int result, String call, String operands) {
        if (result != 0) {
            throw new RdmaException(call, operands, errno(result));
        }
    }

    private static int errno(int result) {
        return result > 0 ? result : result == -1 ? Native.errno() : -result;
    }

    /** Turns a big-endian value, as the C structs hold GUIDs, into host order, or back. */
    static long network(long value) {
        return ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN ? value : Long.reverseBytes(value);
    }

    /** Makes a file descriptor non-blocking: no public method may hang in a read. */
    static void makeNonBlocking(int fd) {
        try {
            int flags = (int) FCNTL.invokeExact(Native.errnoState(), fd, rdma_h.F_GETFL(), 0);
            if (flags < 0) {
                throw Native.failure("fcntl", "F_GETFL");
            }
            int done = (int) FCNTL.invokeExact(Native.errnoState(), fd, rdma_h.F_SETFL(), flags | rdma_h.O_NONBLOCK());
            if (done < 0) {
                throw Native.failure("fcntl", "F_SETFL, O_NONBLOCK");
            }
        } catch (Throwable e) {
            throw Native.unchecked("fcntl", e);
        }
    }

    /**
     * Waits until a file descriptor is readable.
     *
     * @param fd the descriptor
     * @param deadline a value of System.nanoTime
     * @return whether it is readable; false at the end of a slice, which may come before the deadline
     */
    static boolean awaitReadable(int fd, long deadline) {
        long left = Math.max(0, deadline - System.nanoTime());
        int millis = (int) Math.min(SLICE_MILLIS, (left + 999_999) / 1_000_000);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment entry = pollfd.allocate(arena);
            pollfd.fd(entry, fd);
            pollfd.events(entry, (short) rdma_h.POLLIN());
            int ready = (int) POLL.invokeExact(Native.errnoState(), entry, 1L, millis);
            if (ready < 0 && Native.errno() != rdma_h.EINTR()) {
                throw Native.failure("poll", "fd " + fd);
            }
            return ready > 0;
        } catch (Throwable e) {
            throw Native.unchecked("poll", e);
        }
    }

    /** Returns the end of a wait as a value of System.nanoTime. */
    static long deadline(Duration timeout) {
        if (timeout.isNegative()) {
            throw new IllegalArgumentException("a timeout can't be negative: " + timeout);
        }
        // Comparisons of nanoTime are by difference: a year is for ever, and does not overflow.
        Duration longest = Duration.ofDays(365);
        return System.nanoTime() + (timeout.compareTo(longest) > 0 ? longest : timeout).toNanos();
    }

    static void failIfInterrupted(String awaited) {
        if (Thread.currentThread().isInterrupted()) {
            throw new RdmaException("interrupted while waiting for " + awaited);
        }
    }

    /** Returns the limit of locked memory as a person would set it. */
    static String memlockLimit() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment limit = rlimit.allocate(arena);
            int result = (int) GETRLIMIT.invokeExact(Native.errnoState(), rdma_h.RLIMIT_MEMLOCK(), limit);
            if (result != 0) {
                return "unknown";
            }
            long bytes = rlimit.rlim_cur(limit);
            return bytes == -1 ? "unlimited" : bytes / 1024 + " KiB";
        } catch (Throwable e) {
            throw Native.unchecked("getrlimit", e);
        }
    }

    private static int pageSize() {
        try {
            return (int) GETPAGESIZE.invokeExact();
        } catch (Throwable e) {
            throw Native.unchecked("getpagesize", e);
        }
    }
}
