package io.rdmatest.rsocket;

import static io.rdmatest.ffi.rdma_h.C_POINTER;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdmatest.internal.Downcall;
import io.rdmatest.internal.Native;
import io.rdmatest.internal.linux.NativeCalls;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The r* calls with errno captured. Used only after {@link NativeCalls#requireLibraries()}. */
final class RCalls {

    private static final Downcall SOCKET = Downcall.of("rsocket", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);
    private static final Downcall BIND = Downcall.of("rbind", JAVA_INT, JAVA_INT, C_POINTER, JAVA_INT);
    private static final Downcall LISTEN = Downcall.of("rlisten", JAVA_INT, JAVA_INT, JAVA_INT);
    private static final Downcall ACCEPT = Downcall.of("raccept", JAVA_INT, JAVA_INT, C_POINTER, C_POINTER);
    private static final Downcall CONNECT = Downcall.of("rconnect", JAVA_INT, JAVA_INT, C_POINTER, JAVA_INT);
    private static final Downcall SEND = Downcall.of("rsend", JAVA_LONG, JAVA_INT, C_POINTER, JAVA_LONG, JAVA_INT);
    private static final Downcall RECEIVE = Downcall.of("rrecv", JAVA_LONG, JAVA_INT, C_POINTER, JAVA_LONG, JAVA_INT);
    private static final Downcall POLL = Downcall.of("rpoll", JAVA_INT, C_POINTER, JAVA_LONG, JAVA_INT);
    private static final Downcall SHUTDOWN = Downcall.of("rshutdown", JAVA_INT, JAVA_INT, JAVA_INT);
    private static final Downcall CLOSE = Downcall.of("rclose", JAVA_INT, JAVA_INT);
    private static final Downcall SET_OPTION =
            Downcall.of("rsetsockopt", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, C_POINTER, JAVA_INT);
    private static final Downcall GET_OPTION =
            Downcall.of("rgetsockopt", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, C_POINTER, C_POINTER);
    private static final Downcall PEER_NAME = Downcall.of("rgetpeername", JAVA_INT, JAVA_INT, C_POINTER, C_POINTER);
    private static final Downcall SOCKET_NAME = Downcall.of("rgetsockname", JAVA_INT, JAVA_INT, C_POINTER, C_POINTER);
    private static final Downcall IO_MAP =
            Downcall.of("riomap", JAVA_LONG, JAVA_INT, C_POINTER, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG);
    private static final Downcall IO_UNMAP = Downcall.of("riounmap", JAVA_INT, JAVA_INT, C_POINTER, JAVA_LONG);
    private static final Downcall IO_WRITE =
            Downcall.of("riowrite", JAVA_LONG, JAVA_INT, C_POINTER, JAVA_LONG, JAVA_LONG, JAVA_INT);

    private static final Downcall FCNTL = Downcall.variadic("rfcntl", 2, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);

    /** The calls of the data path, as constants for the JIT compiler. */
    private static final class Moving {
        static final MethodHandle SEND = RCalls.SEND.handle();
        static final MethodHandle RECEIVE = RCalls.RECEIVE.handle();
        static final MethodHandle POLL = RCalls.POLL.handle();
    }

    private RCalls() {}

    static int socket(int family, int type, int protocol) {
        try {
            return (int) SOCKET.handle().invokeExact(Native.errnoState(), family, type, protocol);
        } catch (Throwable e) {
            throw Native.unchecked("rsocket", e);
        }
    }

    static int bind(int fd, MemorySegment address) {
        try {
            return (int) BIND.handle().invokeExact(Native.errnoState(), fd, address, (int) address.byteSize());
        } catch (Throwable e) {
            throw Native.unchecked("rbind", e);
        }
    }

    static int listen(int fd, int backlog) {
        try {
            return (int) LISTEN.handle().invokeExact(Native.errnoState(), fd, backlog);
        } catch (Throwable e) {
            throw Native.unchecked("rlisten", e);
        }
    }

    static int accept(int fd) {
        try {
            return (int) ACCEPT.handle().invokeExact(Native.errnoState(), fd, MemorySegment.NULL, MemorySegment.NULL);
        } catch (Throwable e) {
            throw Native.unchecked("raccept", e);
        }
    }

    static int connect(int fd, MemorySegment address) {
        try {
            return (int) CONNECT.handle().invokeExact(Native.errnoState(), fd, address, (int) address.byteSize());
        } catch (Throwable e) {
            throw Native.unchecked("rconnect", e);
        }
    }

    static long send(int fd, MemorySegment data, long length, int flags) {
        try {
            return (long) Moving.SEND.invokeExact(Native.errnoState(), fd, data, length, flags);
        } catch (Throwable e) {
            throw Native.unchecked("rsend", e);
        }
    }

    static long receive(int fd, MemorySegment into, long length, int flags) {
        try {
            return (long) Moving.RECEIVE.invokeExact(Native.errnoState(), fd, into, length, flags);
        } catch (Throwable e) {
            throw Native.unchecked("rrecv", e);
        }
    }

    /** Waits until one of the descriptors is ready, see {@link Alarm}. */
    static int pollUntilReady(MemorySegment pollfds, long count) {
        return poll(pollfds, count, -1);
    }

    /** Polls the descriptor without waiting. */
    static int pollNow(MemorySegment pollfd) {
        return poll(pollfd, 1, 0);
    }

    private static int poll(MemorySegment pollfds, long count, int timeoutMillis) {
        try {
            return (int) Moving.POLL.invokeExact(Native.errnoState(), pollfds, count, timeoutMillis);
        } catch (Throwable e) {
            throw Native.unchecked("rpoll", e);
        }
    }

    static int shutdown(int fd, int how) {
        try {
            return (int) SHUTDOWN.handle().invokeExact(Native.errnoState(), fd, how);
        } catch (Throwable e) {
            throw Native.unchecked("rshutdown", e);
        }
    }

    static int close(int fd) {
        try {
            return (int) CLOSE.handle().invokeExact(Native.errnoState(), fd);
        } catch (Throwable e) {
            throw Native.unchecked("rclose", e);
        }
    }

    static int setOption(int fd, int level, int option, MemorySegment value) {
        try {
            return (int) SET_OPTION.handle().invokeExact(Native.errnoState(), fd, level, option, value, (int)
                    value.byteSize());
        } catch (Throwable e) {
            throw Native.unchecked("rsetsockopt", e);
        }
    }

    static int option(int fd, int level, int option, MemorySegment value, MemorySegment length) {
        try {
            return (int) GET_OPTION.handle().invokeExact(Native.errnoState(), fd, level, option, value, length);
        } catch (Throwable e) {
            throw Native.unchecked("rgetsockopt", e);
        }
    }

    static int name(boolean peer, int fd, MemorySegment address, MemorySegment length) {
        try {
            return peer
                    ? (int) PEER_NAME.handle().invokeExact(Native.errnoState(), fd, address, length)
                    : (int) SOCKET_NAME.handle().invokeExact(Native.errnoState(), fd, address, length);
        } catch (Throwable e) {
            throw Native.unchecked(peer ? "rgetpeername" : "rgetsockname", e);
        }
    }

    static int fcntl(int fd, int command, int argument) {
        try {
            return (int) FCNTL.handle().invokeExact(Native.errnoState(), fd, command, argument);
        } catch (Throwable e) {
            throw Native.unchecked("rfcntl", e);
        }
    }

    static long ioMap(int fd, MemorySegment memory, int protection, long offset) {
        try {
            return (long) IO_MAP.handle()
                    .invokeExact(Native.errnoState(), fd, memory, memory.byteSize(), protection, 0, offset);
        } catch (Throwable e) {
            throw Native.unchecked("riomap", e);
        }
    }

    static int ioUnmap(int fd, MemorySegment memory) {
        try {
            return (int) IO_UNMAP.handle().invokeExact(Native.errnoState(), fd, memory, memory.byteSize());
        } catch (Throwable e) {
            throw Native.unchecked("riounmap", e);
        }
    }

    static long ioWrite(int fd, MemorySegment data, long length, long offset, int flags) {
        try {
            return (long) IO_WRITE.handle().invokeExact(Native.errnoState(), fd, data, length, offset, flags);
        } catch (Throwable e) {
            throw Native.unchecked("riowrite", e);
        }
    }
}
