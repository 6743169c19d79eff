package io.rdmatest.verbs;

import static io.rdmatest.ffi.rdma_h.C_POINTER;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.rdmatest.Cause;
import io.rdmatest.Deadline;
import io.rdmatest.RdmaException;
import io.rdmatest.ffi.pollfd;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.ffi.rlimit;
import io.rdmatest.internal.Downcall;
import io.rdmatest.internal.Errno;
import io.rdmatest.internal.Libc;
import io.rdmatest.internal.Native;
import io.rdmatest.internal.linux.NativeCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.ByteOrder;
import java.util.function.Supplier;

/**
 * The downcalls of this package. Use the class only after {@link NativeCalls#requireLibraries()}.
 *
 * <p>A verb that returns an int returns the errno itself. Some return -1 and set errno. {@link #check} handles both.
 */
final class Verbs {

    static final Downcall GET_DEVICE_LIST = Downcall.of("ibv_get_device_list", C_POINTER, C_POINTER);
    static final Downcall OPEN_DEVICE = Downcall.of("ibv_open_device", C_POINTER, C_POINTER);
    static final Downcall CLOSE_DEVICE = Downcall.of("ibv_close_device", JAVA_INT, C_POINTER);
    static final Downcall QUERY_DEVICE = Downcall.of("ibv_query_device", JAVA_INT, C_POINTER, C_POINTER);
    static final Downcall QUERY_DEVICE_EX =
            Downcall.pointer("query_device_ex", JAVA_INT, C_POINTER, C_POINTER, C_POINTER, JAVA_LONG);
    static final Downcall QUERY_PORT =
            Downcall.pointer("query_port", JAVA_INT, C_POINTER, JAVA_BYTE, C_POINTER, JAVA_LONG);
    static final Downcall QUERY_GID_TABLE =
            Downcall.of("_ibv_query_gid_table", JAVA_LONG, C_POINTER, C_POINTER, JAVA_LONG, JAVA_INT, JAVA_LONG);
    static final Downcall QUERY_PKEY =
            Downcall.of("ibv_query_pkey", JAVA_INT, C_POINTER, JAVA_BYTE, JAVA_INT, C_POINTER);
    static final Downcall GET_ASYNC_EVENT = Downcall.of("ibv_get_async_event", JAVA_INT, C_POINTER, C_POINTER);
    static final Downcall ALLOC_PD = Downcall.of("ibv_alloc_pd", C_POINTER, C_POINTER);
    static final Downcall DEALLOC_PD = Downcall.of("ibv_dealloc_pd", JAVA_INT, C_POINTER);
    static final Downcall REG_MR =
            Downcall.of("ibv_reg_mr_iova2", C_POINTER, C_POINTER, C_POINTER, JAVA_LONG, JAVA_LONG, JAVA_INT);
    /** Exists in rdma-core 34 and newer. */
    static final Downcall REG_DMABUF_MR =
            Downcall.of("ibv_reg_dmabuf_mr", C_POINTER, C_POINTER, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT);

    static final Downcall DEREG_MR = Downcall.of("ibv_dereg_mr", JAVA_INT, C_POINTER);
    static final Downcall ALLOC_MW = Downcall.pointer("alloc_mw", C_POINTER, C_POINTER, JAVA_INT);
    static final Downcall BIND_MW = Downcall.pointer("bind_mw", JAVA_INT, C_POINTER, C_POINTER, C_POINTER);
    static final Downcall DEALLOC_MW = Downcall.pointer("dealloc_mw", JAVA_INT, C_POINTER);
    static final Downcall CREATE_CHANNEL = Downcall.of("ibv_create_comp_channel", C_POINTER, C_POINTER);
    static final Downcall DESTROY_CHANNEL = Downcall.of("ibv_destroy_comp_channel", JAVA_INT, C_POINTER);
    static final Downcall CREATE_CQ =
            Downcall.of("ibv_create_cq", C_POINTER, C_POINTER, JAVA_INT, C_POINTER, C_POINTER, JAVA_INT);
    static final Downcall CREATE_CQ_EX = Downcall.pointer("create_cq_ex", C_POINTER, C_POINTER, C_POINTER);
    static final Downcall QUERY_RT_VALUES = Downcall.pointer("query_rt_values", JAVA_INT, C_POINTER, C_POINTER);
    static final Downcall RESIZE_CQ = Downcall.of("ibv_resize_cq", JAVA_INT, C_POINTER, JAVA_INT);
    static final Downcall DESTROY_CQ = Downcall.of("ibv_destroy_cq", JAVA_INT, C_POINTER);
    private static final Downcall GET_CQ_EVENT =
            Downcall.of("ibv_get_cq_event", JAVA_INT, C_POINTER, C_POINTER, C_POINTER);
    static final Downcall CREATE_SRQ = Downcall.of("ibv_create_srq", C_POINTER, C_POINTER, C_POINTER);
    static final Downcall MODIFY_SRQ = Downcall.of("ibv_modify_srq", JAVA_INT, C_POINTER, C_POINTER, JAVA_INT);
    static final Downcall QUERY_SRQ = Downcall.of("ibv_query_srq", JAVA_INT, C_POINTER, C_POINTER);
    static final Downcall DESTROY_SRQ = Downcall.of("ibv_destroy_srq", JAVA_INT, C_POINTER);
    static final Downcall CREATE_QP = Downcall.of("ibv_create_qp", C_POINTER, C_POINTER, C_POINTER);
    static final Downcall CREATE_QP_EX = Downcall.pointer("create_qp_ex", C_POINTER, C_POINTER, C_POINTER);
    static final Downcall MODIFY_QP = Downcall.of("ibv_modify_qp", JAVA_INT, C_POINTER, C_POINTER, JAVA_INT);
    static final Downcall QUERY_QP = Downcall.of("ibv_query_qp", JAVA_INT, C_POINTER, C_POINTER, JAVA_INT, C_POINTER);
    static final Downcall DESTROY_QP = Downcall.of("ibv_destroy_qp", JAVA_INT, C_POINTER);
    static final Downcall QUERY_ECE = Downcall.of("ibv_query_ece", JAVA_INT, C_POINTER, C_POINTER);
    static final Downcall SET_ECE = Downcall.of("ibv_set_ece", JAVA_INT, C_POINTER, C_POINTER);
    static final Downcall OPEN_XRCD = Downcall.pointer("open_xrcd", C_POINTER, C_POINTER, C_POINTER);
    static final Downcall CLOSE_XRCD = Downcall.pointer("close_xrcd", JAVA_INT, C_POINTER);
    static final Downcall CREATE_SRQ_EX = Downcall.pointer("create_srq_ex", C_POINTER, C_POINTER, C_POINTER);
    static final Downcall GET_SRQ_NUM = Downcall.pointer("get_srq_num", JAVA_INT, C_POINTER, C_POINTER);
    static final Downcall CREATE_AH = Downcall.of("ibv_create_ah", C_POINTER, C_POINTER, C_POINTER);
    static final Downcall CREATE_AH_FROM_WC =
            Downcall.of("ibv_create_ah_from_wc", C_POINTER, C_POINTER, C_POINTER, C_POINTER, JAVA_BYTE);
    static final Downcall DESTROY_AH = Downcall.of("ibv_destroy_ah", JAVA_INT, C_POINTER);
    static final Downcall ATTACH_MCAST = Downcall.of("ibv_attach_mcast", JAVA_INT, C_POINTER, C_POINTER, JAVA_SHORT);
    static final Downcall DETACH_MCAST = Downcall.of("ibv_detach_mcast", JAVA_INT, C_POINTER, C_POINTER, JAVA_SHORT);

    /** ibv_post_send, ibv_post_recv, ibv_post_srq_recv: function, queue, first request, where to report a bad one. */
    static final MethodHandle POST =
            Linker.nativeLinker().downcallHandle(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG));

    /** The same as {@link #POST}, for providers that neither block nor enter the kernel: {@link Provider} has the rule. */
    static final MethodHandle POST_IN_USER_SPACE = Linker.nativeLinker()
            .downcallHandle(
                    FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG), Linker.Option.critical(false));

    /** ibv_poll_cq of a provider that enters the kernel to poll. */
    static final MethodHandle POLL_CQ =
            Linker.nativeLinker().downcallHandle(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG));

    /** ibv_poll_cq of all other providers. */
    static final MethodHandle POLL_CQ_IN_USER_SPACE = Linker.nativeLinker()
            .downcallHandle(
                    FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG), Linker.Option.critical(false));

    static final MethodHandle REQ_NOTIFY =
            Linker.nativeLinker().downcallHandle(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT));

    static final MethodHandle REQ_NOTIFY_IN_USER_SPACE = Linker.nativeLinker()
            .downcallHandle(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT), Linker.Option.critical(false));

    static final int PAGE_SIZE = Libc.getpagesize();

    /** Waits are cut into slices, so that a close on another thread is noticed. */
    static final int SLICE_MILLIS = 20;

    /** The call of a wait for a completion event. It is on the data path, so it is a constant for the JIT compiler. */
    static final class Waiting {
        static final MethodHandle GET_CQ_EVENT = Verbs.GET_CQ_EVENT.handle();

        private Waiting() {}
    }

    /** The pollfd of a waiting thread. The kernel writes to it only during the call, so the garbage collector may free it. */
    private static final ThreadLocal<MemorySegment> ENTRY = ThreadLocal.withInitial(() -> {
        MemorySegment entry = pollfd.allocate(Arena.ofAuto());
        pollfd.events(entry, (short) rdma_h.POLLIN());
        return entry;
    });

    private Verbs() {}

    /** Calls a verb of one pointer that returns a pointer. */
    static MemorySegment create(Downcall verb, String operands, MemorySegment a) {
        MemorySegment made;
        try {
            made = (MemorySegment) verb.handle().invokeExact(Native.errnoState(), a);
        } catch (Throwable e) {
            throw Native.unchecked(verb.function(), e);
        }
        return made(made, verb.function(), operands);
    }

    /** Calls a verb of two pointers that returns a pointer. */
    static MemorySegment create(Downcall verb, String operands, MemorySegment a, MemorySegment b) {
        MemorySegment made;
        try {
            made = (MemorySegment) verb.handle().invokeExact(Native.errnoState(), a, b);
        } catch (Throwable e) {
            throw Native.unchecked(verb.function(), e);
        }
        return made(made, verb.function(), operands);
    }

    static MemorySegment made(MemorySegment made, String call, String operands) {
        if (made.address() == 0) {
            throw NativeCalls.failure(call, operands);
        }
        return made;
    }

    /** Does the same with operands that are built only for a failure. To build them costs as much as some verbs. */
    static MemorySegment create(Downcall verb, Supplier<String> operands, MemorySegment a, MemorySegment b) {
        MemorySegment made;
        try {
            made = (MemorySegment) verb.handle().invokeExact(Native.errnoState(), a, b);
        } catch (Throwable e) {
            throw Native.unchecked(verb.function(), e);
        }
        return made.address() == 0 ? made(made, verb.function(), operands.get()) : made;
    }

    /** Calls a verb of one pointer that returns an errno. */
    static void run(Downcall verb, String operands, MemorySegment a) {
        int result;
        try {
            result = (int) verb.handle().invokeExact(Native.errnoState(), a);
        } catch (Throwable e) {
            throw Native.unchecked(verb.function(), e);
        }
        check(result, verb.function(), operands);
    }

    /** Calls a verb of one pointer that destroys what it points to. */
    static void destroy(Downcall verb, String operands, MemorySegment a) {
        destroy(verb, () -> operands, a);
    }

    /**
     * Calls a verb of one pointer that destroys what it points to. An object that disappeared with its device counts as
     * destroyed. The provider's memory for the object is then lost.
     */
    static void destroy(Downcall verb, Supplier<String> operands, MemorySegment a) {
        int result;
        try {
            result = (int) verb.handle().invokeExact(Native.errnoState(), a);
        } catch (Throwable e) {
            throw Native.unchecked(verb.function(), e);
        }
        if (result != 0) {
            checkDestroyed(result, verb.function(), operands.get());
        }
    }

    /** Calls a verb of two pointers that returns an errno. */
    static void run(Downcall verb, String operands, MemorySegment a, MemorySegment b) {
        int result;
        try {
            result = (int) verb.handle().invokeExact(Native.errnoState(), a, b);
        } catch (Throwable e) {
            throw Native.unchecked(verb.function(), e);
        }
        check(result, verb.function(), operands);
    }

    /** Calls a verb of two pointers and an int that returns an errno. */
    static void run(Downcall verb, String operands, MemorySegment a, MemorySegment b, int c) {
        int result;
        try {
            result = (int) verb.handle().invokeExact(Native.errnoState(), a, b, c);
        } catch (Throwable e) {
            throw Native.unchecked(verb.function(), e);
        }
        check(result, verb.function(), operands);
    }

    /** Calls a verb of two pointers and a short, and returns the verb's result. */
    static int call(Downcall verb, MemorySegment a, MemorySegment b, short c) {
        try {
            return (int) verb.handle().invokeExact(Native.errnoState(), a, b, c);
        } catch (Throwable e) {
            throw Native.unchecked(verb.function(), e);
        }
    }

    static void check(int result, String call, String operands) {
        if (result != 0) {
            throw new RdmaException(call, operands, errno(result));
        }
    }

    /** Checks the result of a verb that destroys or detaches something. */
    static void checkDestroyed(int result, String call, String operands) {
        if (result != 0 && !Errno.isReleasedWithDevice(errno(result))) {
            throw new RdmaException(call, operands, errno(result));
        }
    }

    /**
     * Tells whether the result of a provider's function is an errno, positive or negative. -1 and -2 are not. The functions on
     * the data path do not set errno, and several providers return these two numbers for errors of any kind.
     */
    static boolean isErrno(int result) {
        return result > 0 || result < -2;
    }

    private static int errno(int result) {
        return result > 0 ? result : result == -1 ? Native.errno() : -result;
    }

    /** Turns a big-endian value, as the C structs hold GUIDs, into host order, or back. */
    static long network(long value) {
        return ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN ? value : Long.reverseBytes(value);
    }

    static int network(int value) {
        return ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN ? value : Integer.reverseBytes(value);
    }

    /**
     * Waits until a file descriptor is readable.
     *
     * @param fd the descriptor
     * @param deadline what {@link Deadline#end} returned
     * @return whether it is readable; false at the end of a slice, which may come before the deadline
     */
    static boolean awaitReadable(int fd, long deadline) {
        int millis = (int) Math.min(SLICE_MILLIS, (Deadline.nanos(deadline) + 999_999) / 1_000_000);
        MemorySegment entry = ENTRY.get();
        pollfd.fd(entry, fd);
        int ready = Libc.poll(entry, 1, millis);
        if (ready < 0 && Native.errno() != Libc.EINTR) {
            throw NativeCalls.failure("poll", "fd " + fd);
        }
        return ready > 0;
    }

    static void failIfInterrupted(String awaited) {
        if (Thread.currentThread().isInterrupted()) {
            throw new RdmaException(Cause.INTERRUPTED, "interrupted while waiting for " + awaited);
        }
    }

    /** Returns the limit of locked memory for a message, in KiB. */
    static String memlockLimit() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment limit = rlimit.allocate(arena);
            if (Libc.getrlimit(rdma_h.RLIMIT_MEMLOCK(), limit) != 0) {
                return "unknown";
            }
            long bytes = rlimit.rlim_cur(limit);
            return bytes == -1 ? "unlimited" : bytes / 1024 + " KiB";
        }
    }
}
