package io.rdmatest.rsocket;

import io.rdmatest.ffi.rdma_h;
import io.rdmatest.internal.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** The r* calls with errno captured. Touched only after {@link Native#requireLibraries()}. */
final class RCalls {

    private static final MethodHandle SOCKET = Native.capturing(rdma_h.rsocket$address(), rdma_h.rsocket$descriptor());
    private static final MethodHandle BIND = Native.capturing(rdma_h.rbind$address(), rdma_h.rbind$descriptor());
    private static final MethodHandle LISTEN = Native.capturing(rdma_h.rlisten$address(), rdma_h.rlisten$descriptor());
    private static final MethodHandle ACCEPT = Native.capturing(rdma_h.raccept$address(), rdma_h.raccept$descriptor());
    private static final MethodHandle CONNECT =
            Native.capturing(rdma_h.rconnect$address(), rdma_h.rconnect$descriptor());
    private static final MethodHandle SEND = Native.capturing(rdma_h.rsend$address(), rdma_h.rsend$descriptor());
    private static final MethodHandle RECEIVE = Native.capturing(rdma_h.rrecv$address(), rdma_h.rrecv$descriptor());
    private static final MethodHandle POLL = Native.capturing(rdma_h.rpoll$address(), rdma_h.rpoll$descriptor());
    private static final MethodHandle SHUTDOWN =
            Native.capturing(rdma_h.rshutdown$address(), rdma_h.rshutdown$descriptor());
    private static final MethodHandle CLOSE = Native.capturing(rdma_h.rclose$address(), rdma_h.rclose$descriptor());
    private static final MethodHandle SET_OPTION =
            Native.capturing(rdma_h.rsetsockopt$address(), rdma_h.rsetsockopt$descriptor());
    private static final MethodHandle GET_OPTION =
            Native.capturing(rdma_h.rgetsockopt$address(), rdma_h.rgetsockopt$descriptor());
    private static final MethodHandle PEER_NAME =
            Native.capturing(rdma_h.rgetpeername$address(), rdma_h.rgetpeername$descriptor());
    private static final MethodHandle SOCKET_NAME =
            Native.capturing(rdma_h.rgetsockname$address(), rdma_h.rgetsockname$descriptor());
    private static final MethodHandle IO_MAP = Native.capturing(rdma_h.riomap$address(), rdma_h.riomap$descriptor());
    private static final MethodHandle IO_UNMAP =
            Native.capturing(rdma_h.riounmap$address(), rdma_h.riounmap$descriptor());
    private static final MethodHandle IO_WRITE =
            Native.capturing(rdma_h.riowrite$address(), rdma_h.riowrite$descriptor());

    /** int rfcntl(int socket, int cmd, ...): variadic, which jextract's fixed handles don't cover. */
    private static final MethodHandle FCNTL = Linker.nativeLinker()
            .downcallHandle(
                    SymbolLookup.libraryLookup("librdmacm.so.1", Arena.global()).findOrThrow("rfcntl"),
                    FunctionDescriptor.of(
                            ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT),
                    Linker.Option.firstVariadicArg(2),
                    Linker.Option.captureCallState("errno"));

    private RCalls() {}

    static int socket(int family, int type, int protocol) {
        try {
            return (int) SOCKET.invokeExact(Native.errnoState(), family, type, protocol);
        } catch (Throwable e) {
            throw Native.unchecked("rsocket", e);
        }
    }

    static int bind(int fd, MemorySegment address) {
        try {
            return (int) BIND.invokeExact(Native.errnoState(), fd, address, (int) address.byteSize());
        } catch (Throwable e) {
            throw Native.unchecked("rbind", e);
        }
    }

    static int listen(int fd, int backlog) {
        try {
            return (int) LISTEN.invokeExact(Native.errnoState(), fd, backlog);
        } catch (Throwable e) {
            throw Native.unchecked("rlisten", e);
        }
    }

    static int accept(int fd) {
        try {
            return (int) ACCEPT.invokeExact(Native.errnoState(), fd, MemorySegment.NULL, MemorySegment.NULL);
        } catch (Throwable e) {
            throw Native.unchecked("raccept", e);
        }
    }

    static int connect(int fd, MemorySegment address) {
        try {
            return (int) CONNECT.invokeExact(Native.errnoState(), fd, address, (int) address.byteSize());
        } catch (Throwable e) {
            throw Native.unchecked("rconnect", e);
        }
    }

    static long send(int fd, MemorySegment data, long length, int flags) {
        try {
            return (long) SEND.invokeExact(Native.errnoState(), fd, data, length, flags);
        } catch (Throwable e) {
            throw Native.unchecked("rsend", e);
        }
    }

    static long receive(int fd, MemorySegment into, long length, int flags) {
        try {
            return (long) RECEIVE.invokeExact(Native.errnoState(), fd, into, length, flags);
        } catch (Throwable e) {
            throw Native.unchecked("rrecv", e);
        }
    }

    /** Waits until one of the descriptors is ready, see {@link Alarm}. */
    static int pollUntilReady(MemorySegment pollfds, long count) {
        return poll(pollfds, count, -1);
    }

    /** Looks at the descriptor without waiting. */
    static int pollNow(MemorySegment pollfd) {
        return poll(pollfd, 1, 0);
    }

    private static int poll(MemorySegment pollfds, long count, int timeoutMillis) {
        try {
            return (int) POLL.invokeExact(Native.errnoState(), pollfds, count, timeoutMillis);
        } catch (Throwable e) {
            throw Native.unchecked("rpoll", e);
        }
    }

    static int shutdown(int fd, int how) {
        try {
            return (int) SHUTDOWN.invokeExact(Native.errnoState(), fd, how);
        } catch (Throwable e) {
            throw Native.unchecked("rshutdown", e);
        }
    }

    static int close(int fd) {
        try {
            return (int) CLOSE.invokeExact(Native.errnoState(), fd);
        } catch (Throwable e) {
            throw Native.unchecked("rclose", e);
        }
    }

    static int setOption(int fd, int level, int option, MemorySegment value) {
        try {
            return (int) SET_OPTION.invokeExact(Native.errnoState(), fd, level, option, value, (int) value.byteSize());
        } catch (Throwable e) {
            throw Native.unchecked("rsetsockopt", e);
        }
    }

    static int option(int fd, int level, int option, MemorySegment value, MemorySegment length) {
        try {
            return (int) GET_OPTION.invokeExact(Native.errnoState(), fd, level, option, value, length);
        } catch (Throwable e) {
            throw Native.unchecked("rgetsockopt", e);
        }
    }

    static int name(boolean peer, int fd, MemorySegment address, MemorySegment length) {
        try {
            return peer
                    ? (int) PEER_NAME.invokeExact(Native.errnoState(), fd, address, length)
                    : (int) SOCKET_NAME.invokeExact(Native.errnoState(), fd, address, length);
        } catch (Throwable e) {
            throw Native.unchecked(peer ? "rgetpeername" : "rgetsockname", e);
        }
    }

    static int fcntl(int fd, int command, int argument) {
        try {
            return (int) FCNTL.invokeExact(Native.errnoState(), fd, command, argument);
        } catch (Throwable e) {
            throw Native.unchecked("rfcntl", e);
        }
    }

    static long ioMap(int fd, MemorySegment memory, int protection, long offset) {
        try {
            return (long) IO_MAP.invokeExact(Native.errnoState(), fd, memory, memory.byteSize(), protection, 0, offset);
        } catch (Throwable e) {
            throw Native.unchecked("riomap", e);
        }
    }

    static int ioUnmap(int fd, MemorySegment memory) {
        try {
            return (int) IO_UNMAP.invokeExact(Native.errnoState(), fd, memory, memory.byteSize());
        } catch (Throwable e) {
            throw Native.unchecked("riounmap", e);
        }
    }

    static long ioWrite(int fd, MemorySegment data, long length, long offset, int flags) {
        try {
            return (long) IO_WRITE.invokeExact(Native.errnoState(), fd, data, length, offset, flags);
        } catch (Throwable e) {
            throw Native.unchecked("riowrite", e);
        }
    }
}
