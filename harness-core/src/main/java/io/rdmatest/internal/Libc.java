package io.rdmatest.internal;

import static io.rdmatest.ffi.rdma_h.C_POINTER;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.Optional;

/**
 * Functions of the C library. They need no RDMA library.
 *
 * <p>A function returns what that of the C library returns; {@link Native#errno()} has the errno of a failure. The functions of
 * memory, {@code strerror} and {@code dladdr} leave {@link Native#errno()} as it is, so that they may run between a failure and its
 * message.
 */
public final class Libc {

    // The values of Linux, the same on x86-64, aarch64 and riscv64.

    /** Operation not permitted. */
    public static final int EPERM = 1;

    /** Interrupted by a signal. */
    public static final int EINTR = 4;

    /** Nothing to read, or no room to write. */
    public static final int EAGAIN = 11;

    /** The pipe has no reader; in the kernel's log: records were overwritten. */
    public static final int EPIPE = 32;

    /** A flag of {@link #open}. */
    public static final int O_NONBLOCK = 0x800;

    /** A flag of {@link #open}; sockets, timers and events take the same bit. */
    public static final int O_CLOEXEC = 0x80000;

    /** The position of {@link #lseek}. */
    public static final int SEEK_END = 2;

    /** The descriptor is readable, poll(2). */
    public static final short POLLIN = 1;

    /** The descriptor has an error, poll(2). */
    public static final short POLLERR = 8;

    /** A type of {@link #socket}. */
    public static final int SOCK_RAW = 3;

    /** A flag of {@link #recv}. */
    public static final int MSG_DONTWAIT = 0x40;

    /** Pages of {@link #mmap} may be read and written. */
    public static final int PROT_READ_WRITE = 3;

    /** A mapping of {@link #mmap} that others see. */
    public static final int MAP_SHARED = 1;

    /** Zeroed memory of the process's own, {@link #mmap}. */
    public static final int MAP_PRIVATE_ANONYMOUS = 0x22;

    /** The result of {@link #mmap} if it fails. */
    public static final long MAP_FAILED = -1;

    private static final int F_GETFL = 3;
    private static final int F_SETFL = 4;

    private static final Downcall OPEN = Downcall.libcVariadic("open", 2, JAVA_INT, C_POINTER, JAVA_INT);
    private static final Downcall CLOSE = Downcall.libc("close", JAVA_INT, JAVA_INT);
    private static final Downcall READ = Downcall.libc("read", JAVA_LONG, JAVA_INT, C_POINTER, JAVA_LONG);
    private static final Downcall WRITE = Downcall.libc("write", JAVA_LONG, JAVA_INT, C_POINTER, JAVA_LONG);
    private static final Downcall LSEEK = Downcall.libc("lseek", JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT);
    private static final Downcall FCNTL = Downcall.libcVariadic("fcntl", 2, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);
    private static final Downcall POLL = Downcall.libc("poll", JAVA_INT, C_POINTER, JAVA_LONG, JAVA_INT);
    private static final Downcall EVENTFD = Downcall.libc("eventfd", JAVA_INT, JAVA_INT, JAVA_INT);
    private static final Downcall TIMERFD_CREATE = Downcall.libc("timerfd_create", JAVA_INT, JAVA_INT, JAVA_INT);
    private static final Downcall TIMERFD_SETTIME =
            Downcall.libc("timerfd_settime", JAVA_INT, JAVA_INT, JAVA_INT, C_POINTER, C_POINTER);
    private static final Downcall SOCKET = Downcall.libc("socket", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);
    private static final Downcall BIND = Downcall.libc("bind", JAVA_INT, JAVA_INT, C_POINTER, JAVA_INT);
    private static final Downcall SETSOCKOPT =
            Downcall.libc("setsockopt", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, C_POINTER, JAVA_INT);
    private static final Downcall GETSOCKOPT =
            Downcall.libc("getsockopt", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, C_POINTER, C_POINTER);
    private static final Downcall SEND = Downcall.libc("send", JAVA_LONG, JAVA_INT, C_POINTER, JAVA_LONG, JAVA_INT);
    private static final Downcall RECV = Downcall.libc("recv", JAVA_LONG, JAVA_INT, C_POINTER, JAVA_LONG, JAVA_INT);
    private static final Downcall MMAP =
            Downcall.libc("mmap", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG);
    private static final Downcall MUNMAP = Downcall.libc("munmap", JAVA_INT, JAVA_LONG, JAVA_LONG);
    /** The number of a system call and its six arguments. */
    private static final Downcall SYSCALL = Downcall.libcVariadic(
            "syscall", 1, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, C_POINTER, JAVA_LONG, JAVA_LONG);

    private static final Downcall GETRLIMIT = Downcall.libc("getrlimit", JAVA_INT, JAVA_INT, C_POINTER);
    private static final Downcall GETPAGESIZE = Downcall.libc("getpagesize", JAVA_INT);
    private static final Downcall GETTID = Downcall.libc("gettid", JAVA_INT);
    private static final Downcall TGKILL = Downcall.libc("tgkill", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);
    private static final Downcall SIGACTION = Downcall.libc("sigaction", JAVA_INT, JAVA_INT, C_POINTER, C_POINTER);

    /** Constants for the JIT compiler: waits are frequent. The first wait makes them. */
    private static final class Waiting {
        static final MethodHandle POLL = Libc.POLL.handle();
    }

    private static final class Timers {
        static final MethodHandle SETTIME = Libc.TIMERFD_SETTIME.handle();
    }

    /** The functions that leave errno as it is. */
    private static final class Memory {
        static final MethodHandle CALLOC = quiet("calloc", FunctionDescriptor.of(C_POINTER, JAVA_LONG, JAVA_LONG));
        static final MethodHandle ALIGNED_ALLOC =
                quiet("aligned_alloc", FunctionDescriptor.of(C_POINTER, JAVA_LONG, JAVA_LONG));
        static final MethodHandle FREE = quiet("free", FunctionDescriptor.ofVoid(C_POINTER));
    }

    /** Four pointers of dladdr; the first one is to the path of the library. */
    private static final MemoryLayout DL_INFO = MemoryLayout.sequenceLayout(4, C_POINTER);

    private static final long LONGEST_PATH = 4096;

    private static final class Symbols {
        /** Some C libraries do not have it. */
        static final Optional<MethodHandle> DLADDR = lookup().find("dladdr")
                .map(function -> Linker.nativeLinker()
                        .downcallHandle(function, FunctionDescriptor.of(JAVA_INT, C_POINTER, C_POINTER)));
    }

    private static final class Texts {
        static final MethodHandle STRERROR = quiet("strerror", FunctionDescriptor.of(C_POINTER, JAVA_INT));
    }

    private Libc() {}

    private static MethodHandle quiet(String function, FunctionDescriptor descriptor) {
        return Linker.nativeLinker().downcallHandle(lookup().findOrThrow(function), descriptor);
    }

    /** Returns the symbols of the C library. */
    static SymbolLookup lookup() {
        return Linker.nativeLinker().defaultLookup();
    }

    /** open(2) of a file that exists. */
    public static int open(String path, int flags) {
        try (Arena arena = Arena.ofConfined()) {
            return (int) OPEN.handle().invokeExact(Native.errnoState(), arena.allocateFrom(path), flags);
        } catch (Throwable e) {
            throw Native.unchecked("open", e);
        }
    }

    /** close(2). */
    public static int close(int fd) {
        try {
            return (int) CLOSE.handle().invokeExact(Native.errnoState(), fd);
        } catch (Throwable e) {
            throw Native.unchecked("close", e);
        }
    }

    /** read(2). */
    public static long read(int fd, MemorySegment buffer, long length) {
        try {
            return (long) READ.handle().invokeExact(Native.errnoState(), fd, buffer, length);
        } catch (Throwable e) {
            throw Native.unchecked("read", e);
        }
    }

    /** write(2). */
    public static long write(int fd, MemorySegment buffer, long length) {
        try {
            return (long) WRITE.handle().invokeExact(Native.errnoState(), fd, buffer, length);
        } catch (Throwable e) {
            throw Native.unchecked("write", e);
        }
    }

    /** lseek(2). */
    public static long lseek(int fd, long offset, int whence) {
        try {
            return (long) LSEEK.handle().invokeExact(Native.errnoState(), fd, offset, whence);
        } catch (Throwable e) {
            throw Native.unchecked("lseek", e);
        }
    }

    /** Returns the status flags of a descriptor, fcntl(2) with F_GETFL. */
    public static int statusFlags(int fd) {
        try {
            return (int) FCNTL.handle().invokeExact(Native.errnoState(), fd, F_GETFL, 0);
        } catch (Throwable e) {
            throw Native.unchecked("fcntl", e);
        }
    }

    /** Sets the status flags of a descriptor, fcntl(2) with F_SETFL. */
    public static int setStatusFlags(int fd, int flags) {
        try {
            return (int) FCNTL.handle().invokeExact(Native.errnoState(), fd, F_SETFL, flags);
        } catch (Throwable e) {
            throw Native.unchecked("fcntl", e);
        }
    }

    /** poll(2). Allocates nothing. */
    public static int poll(MemorySegment entries, long count, int millis) {
        try {
            return (int) Waiting.POLL.invokeExact(Native.errnoState(), entries, count, millis);
        } catch (Throwable e) {
            throw Native.unchecked("poll", e);
        }
    }

    /** eventfd(2). */
    public static int eventfd(int initial, int flags) {
        try {
            return (int) EVENTFD.handle().invokeExact(Native.errnoState(), initial, flags);
        } catch (Throwable e) {
            throw Native.unchecked("eventfd", e);
        }
    }

    /** timerfd_create(2). */
    public static int timerfdCreate(int clock, int flags) {
        try {
            return (int) TIMERFD_CREATE.handle().invokeExact(Native.errnoState(), clock, flags);
        } catch (Throwable e) {
            throw Native.unchecked("timerfd_create", e);
        }
    }

    /** timerfd_settime(2), without the earlier setting. Allocates nothing. */
    public static int timerfdSettime(int fd, int flags, MemorySegment spec) {
        try {
            return (int) Timers.SETTIME.invokeExact(Native.errnoState(), fd, flags, spec, MemorySegment.NULL);
        } catch (Throwable e) {
            throw Native.unchecked("timerfd_settime", e);
        }
    }

    /** socket(2). */
    public static int socket(int domain, int type, int protocol) {
        try {
            return (int) SOCKET.handle().invokeExact(Native.errnoState(), domain, type, protocol);
        } catch (Throwable e) {
            throw Native.unchecked("socket", e);
        }
    }

    /** bind(2). */
    public static int bind(int fd, MemorySegment address) {
        try {
            return (int) BIND.handle().invokeExact(Native.errnoState(), fd, address, (int) address.byteSize());
        } catch (Throwable e) {
            throw Native.unchecked("bind", e);
        }
    }

    /** setsockopt(2). */
    public static int setsockopt(int fd, int level, int option, MemorySegment value) {
        try {
            return (int) SETSOCKOPT.handle().invokeExact(Native.errnoState(), fd, level, option, value, (int)
                    value.byteSize());
        } catch (Throwable e) {
            throw Native.unchecked("setsockopt", e);
        }
    }

    /** getsockopt(2). */
    public static int getsockopt(int fd, int level, int option, MemorySegment value, MemorySegment length) {
        try {
            return (int) GETSOCKOPT.handle().invokeExact(Native.errnoState(), fd, level, option, value, length);
        } catch (Throwable e) {
            throw Native.unchecked("getsockopt", e);
        }
    }

    /** send(2). */
    public static long send(int fd, MemorySegment buffer, long length, int flags) {
        try {
            return (long) SEND.handle().invokeExact(Native.errnoState(), fd, buffer, length, flags);
        } catch (Throwable e) {
            throw Native.unchecked("send", e);
        }
    }

    /** recv(2). */
    public static long recv(int fd, MemorySegment buffer, long length, int flags) {
        try {
            return (long) RECV.handle().invokeExact(Native.errnoState(), fd, buffer, length, flags);
        } catch (Throwable e) {
            throw Native.unchecked("recv", e);
        }
    }

    /** mmap(2) from the start of the file, at an address that the kernel chooses. */
    public static long mmap(long length, int protection, int flags, int fd) {
        try {
            return (long) MMAP.handle().invokeExact(Native.errnoState(), 0L, length, protection, flags, fd, 0L);
        } catch (Throwable e) {
            throw Native.unchecked("mmap", e);
        }
    }

    /** munmap(2). */
    public static int munmap(long address, long length) {
        try {
            return (int) MUNMAP.handle().invokeExact(Native.errnoState(), address, length);
        } catch (Throwable e) {
            throw Native.unchecked("munmap", e);
        }
    }

    /** mbind(2), which the C library does not export: syscall(2) with its number. */
    public static long mbind(
            long number, long address, long length, long mode, MemorySegment mask, long bits, long flags) {
        try {
            return (long)
                    SYSCALL.handle().invokeExact(Native.errnoState(), number, address, length, mode, mask, bits, flags);
        } catch (Throwable e) {
            throw Native.unchecked("mbind", e);
        }
    }

    /** getrlimit(2). */
    public static int getrlimit(int resource, MemorySegment limit) {
        try {
            return (int) GETRLIMIT.handle().invokeExact(Native.errnoState(), resource, limit);
        } catch (Throwable e) {
            throw Native.unchecked("getrlimit", e);
        }
    }

    /** getpagesize(2). */
    public static int getpagesize() {
        try {
            return (int) GETPAGESIZE.handle().invokeExact(Native.errnoState());
        } catch (Throwable e) {
            throw Native.unchecked("getpagesize", e);
        }
    }

    /** gettid(2): the id of the calling thread; for a virtual thread, that of its current carrier. */
    public static int gettid() {
        try {
            return (int) GETTID.handle().invokeExact(Native.errnoState());
        } catch (Throwable e) {
            throw Native.unchecked("gettid", e);
        }
    }

    /** tgkill(2). */
    public static int tgkill(int process, int thread, int signal) {
        try {
            return (int) TGKILL.handle().invokeExact(Native.errnoState(), process, thread, signal);
        } catch (Throwable e) {
            throw Native.unchecked("tgkill", e);
        }
    }

    /** sigaction(2). */
    public static int sigaction(int signal, MemorySegment action, MemorySegment before) {
        try {
            return (int) SIGACTION.handle().invokeExact(Native.errnoState(), signal, action, before);
        } catch (Throwable e) {
            throw Native.unchecked("sigaction", e);
        }
    }

    /** calloc(3); a null pointer if there is no memory. Leaves errno as it is. */
    static MemorySegment calloc(long count, long size) {
        try {
            return (MemorySegment) Memory.CALLOC.invokeExact(count, size);
        } catch (Throwable e) {
            throw Native.unchecked("calloc", e);
        }
    }

    /** aligned_alloc(3); a null pointer if there is no memory. Leaves errno as it is. */
    static MemorySegment alignedAlloc(long alignment, long size) {
        try {
            return (MemorySegment) Memory.ALIGNED_ALLOC.invokeExact(alignment, size);
        } catch (Throwable e) {
            throw Native.unchecked("aligned_alloc", e);
        }
    }

    /** free(3). Leaves errno as it is. */
    static void free(MemorySegment memory) {
        try {
            Memory.FREE.invokeExact(memory);
        } catch (Throwable e) {
            throw Native.unchecked("free", e);
        }
    }

    /** strerror(3). Leaves errno as it is. */
    static String strerror(int errno) {
        try {
            return Native.string((MemorySegment) Texts.STRERROR.invokeExact(errno), 256);
        } catch (Throwable e) {
            throw Native.unchecked("strerror", e);
        }
    }

    /**
     * Returns the path of the library that a function is in, dladdr(3). Leaves errno as it is.
     *
     * @return the path; empty if it is not known
     */
    public static String libraryOf(MemorySegment function) {
        if (Symbols.DLADDR.isEmpty()) {
            return "";
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment info = arena.allocate(DL_INFO);
            int found = (int) Symbols.DLADDR.get().invokeExact(function, info);
            return found == 0 ? "" : Native.string(info.get(C_POINTER, 0), LONGEST_PATH);
        } catch (Throwable e) {
            throw Native.unchecked("dladdr", e);
        }
    }
}
