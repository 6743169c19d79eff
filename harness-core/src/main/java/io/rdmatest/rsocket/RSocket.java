package io.rdmatest.rsocket;

import io.rdmatest.Cause;
import io.rdmatest.Deadline;
import io.rdmatest.NativeResource;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.cm.AddressInfo;
import io.rdmatest.ffi.pollfd;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.ffi.sockaddr_storage;
import io.rdmatest.internal.Native;
import io.rdmatest.internal.linux.ManagerFile;
import io.rdmatest.internal.linux.NativeCalls;
import io.rdmatest.internal.linux.PortInUse;
import io.rdmatest.internal.linux.SocketAddresses;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.IntToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * A stream socket over RDMA, rsocket(7): the semantics of a TCP socket, carried by RDMA writes.
 *
 * <p>The socket is non-blocking inside. A method that waits has a timeout and throws {@link RdmaTimeoutException} when
 * it expires. An interrupt ends a wait with an {@link RdmaException} and leaves the thread's interrupt status set. One
 * thread may send while another receives. Closing from a third thread ends their waits with an {@link
 * IllegalStateException}.
 *
 * <p>Buffers are memory segments and byte buffers. Native buffers are passed to librdmacm directly, heap buffers are
 * copied.
 *
 * <p>At most 63 sockets can be open in one JVM, including accepted and listening ones. The system property {@value
 * #SOCKETS} raises the limit up to 16383. librdmacm fails with more sockets than it was prepared for.
 */
public final class RSocket extends NativeResource {

    /** The system property with the most sockets that may be open at a time in this JVM: 1 to 16383, by default 63. */
    public static final String SOCKETS = "rdma.rsockets";

    /**
     * The milliseconds of one rpoll. It limits the delay of an interrupt or a close from another thread. It also limits
     * the delay when another thread's poll has taken the wake-up of the same completion queue.
     */
    private static final int SLICE_MILLIS = 20;

    /** The most bytes of one native call: their count fits into an int. */
    private static final long LARGEST_CALL = 1L << 30;

    private static final long STAGING = 64 * 1024;

    /** The limit, in seconds, of calls that wait for the peer's device. */
    private static final int CLOSING_SECONDS = 10;

    private static final Duration CLOSING = Duration.ofSeconds(CLOSING_SECONDS);

    /**
     * The longest wait for an rclose that no interrupt ends, while the kernel releases memory. With soft-RoCE the kernel waits up
     * to 50 s for the last user of deregistered memory (__rxe_cleanup). This happens if a packet of the peer was in progress when
     * the queue pair went to the error state. The responder holds the memory until the queue pair is destroyed, but rclose
     * deregisters the memory first. An adapter's firmware has a minute for a command, too.
     */
    private static final Duration RELEASING = Duration.ofSeconds(60);

    /** The time for an interrupted rclose to return: it still frees memory and queue pairs. */
    private static final Duration INTERRUPTING = Duration.ofSeconds(2);

    private static final System.Logger LOG = System.getLogger(RSocket.class.getName());

    // Linux; not among the generated constants.
    private static final int SO_KEEPALIVE = 9;
    private static final int TCP_KEEPIDLE = 4;
    private static final int EPIPE = 32;
    private static final int POLLERR = 0x8;
    private static final int POLLHUP = 0x10;
    private static final int POLLNVAL = 0x20;

    /** Two descriptors: the socket's, and that of the alarm that ends the wait. */
    private static final ThreadLocal<MemorySegment> POLL_FDS =
            ThreadLocal.withInitial(() -> pollfd.allocateArray(2, Arena.ofAuto()));

    /**
     * The state of the socket. librdmacm does not check it everywhere: rsend on an unconnected socket dereferences a
     * null pointer and crashes the process.
     */
    private enum State {
        NEW,
        BOUND,
        LISTENING,
        CONNECTING,
        CONNECTED,
        FAILED
    }

    private final int fd;
    /** One alarm for each direction, so that a waiting sender does not delay a waiting receiver. */
    private final Alarm sending;

    private final Alarm receiving;
    private volatile State state;
    private volatile String shown;

    /**
     * Whether this side has shut down its sending. rsend checks that only when it is out of credits, and accepts the
     * bytes otherwise.
     */
    private volatile boolean sendingEnded;

    /** Whether librdmacm has lost or ended the connection. rsend does not always check that either. */
    private volatile boolean disconnected;

    /** The rclose in progress, if {@link #close} was called. */
    private volatile @Nullable DetachedCall closing;

    /** When that rclose began, maybe on another thread than the one that completes the close. */
    private volatile long closingSince;

    /** Whether an interrupt ended rclose. Set by the closing thread. */
    private boolean cutShort;

    private RSocket(int fd, @Nullable RSocket listener, Alarm sending, Alarm receiving) {
        this.fd = fd;
        this.sending = sending;
        this.receiving = receiving;
        this.state = listener == null ? State.NEW : State.CONNECTED;
        this.shown = listener == null ? "rsocket " + fd : "rsocket " + fd + " (accepted)";
        super("rsocket");
    }

    /**
     * Creates an unconnected stream socket for IPv4 addresses.
     *
     * @return the socket
     * @throws io.rdmatest.NativeLibraryException if librdmacm is not installed
     * @throws RdmaException if the kernel has no RDMA stack, the process may not use it, or too many sockets are open
     */
    public static RSocket stream() {
        return stream(StandardProtocolFamily.INET);
    }

    /**
     * Creates an unconnected stream socket.
     *
     * @param family INET or INET6
     * @return the socket
     * @throws IllegalArgumentException for another family
     * @throws io.rdmatest.NativeLibraryException if librdmacm is not installed
     * @throws RdmaException if the kernel has no RDMA stack, the process may not use it, or too many sockets are open
     */
    public static RSocket stream(StandardProtocolFamily family) {
        NativeCalls.requireLibraries();
        int domain = switch (family) {
            case INET -> rdma_h.AF_INET();
            case INET6 -> rdma_h.AF_INET6();
            default -> throw new IllegalArgumentException(family + " is neither INET nor INET6");
        };
        return stream(domain, family.toString());
    }

    /**
     * Creates an unconnected stream socket for the addresses of a look-up: IPv4, IPv6 or native InfiniBand.
     *
     * @param info the result of the look-up, for {@link #bind(AddressInfo) bind} or {@link #connect(AddressInfo,
     *     Duration) connect}
     * @return the socket
     * @throws io.rdmatest.NativeLibraryException if librdmacm is not installed
     * @throws RdmaException if the kernel has no RDMA stack, the process may not use it, or too many sockets are open
     */
    public static RSocket stream(AddressInfo info) {
        if (info.isNative()) {
            return stream(rdma_h.AF_IB(), "AF_IB");
        }
        return stream(
                info.destination()
                                .or(info::source)
                                .filter(address -> address.getAddress() instanceof Inet6Address)
                                .isPresent()
                        ? StandardProtocolFamily.INET6
                        : StandardProtocolFamily.INET);
    }

    private static RSocket stream(int domain, String family) {
        return ServiceTable.take(() -> {
            int fd = RCalls.socket(domain, rdma_h.SOCK_STREAM(), 0);
            if (fd < 0) {
                throw ManagerFile.failure("rsocket", family + ", SOCK_STREAM");
            }
            return adopt(fd, null);
        });
    }

    private static RSocket adopt(int fd, @Nullable RSocket listener) {
        Alarm sending = null;
        Alarm receiving = null;
        boolean adopted = false;
        try {
            if (RCalls.fcntl(fd, rdma_h.F_SETFL(), rdma_h.O_NONBLOCK()) != 0) {
                throw NativeCalls.failure("rfcntl", "rsocket " + fd + ", F_SETFL, O_NONBLOCK");
            }
            sending = Alarm.open();
            receiving = Alarm.open();
            RSocket socket = new RSocket(fd, listener, sending, receiving);
            adopted = true;
            return socket;
        } finally {
            if (!adopted) {
                int ignored = RCalls.close(fd);
                if (sending != null) {
                    sending.close();
                }
                if (receiving != null) {
                    receiving.close();
                }
            }
        }
    }

    /**
     * Runs one native call with the descriptor. The descriptor can't be closed, and so not reused, during the call.
     *
     * @throws IllegalStateException if the socket is closed
     */
    long guarded(IntToLongFunction call) {
        begin();
        try {
            return call.applyAsLong(fd);
        } finally {
            exit();
        }
    }

    /**
     * Begins a native call. Call exit() afterwards. An abandoned rclose is still in progress and frees the socket when
     * it returns.
     *
     * @throws IllegalStateException if the socket is closed or being closed
     */
    private void begin() {
        enter();
        if (closing != null) {
            exit();
            throw new IllegalStateException(describe() + " is being closed");
        }
    }

    private void check(String call, String operands, long result) {
        if (result < 0) {
            throw NativeCalls.failure(call, describe() + (operands.isEmpty() ? "" : ", " + operands));
        }
    }

    // ---- connections

    /**
     * Binds the socket to a local address, rbind.
     *
     * @param address an address of an interface with an RDMA device, or the wildcard address; with port 0 the library
     *     chooses one
     * @throws RdmaException EADDRINUSE if the port is in use; EADDRNOTAVAIL or ENODEV if no RDMA device of this host
     *     has the address
     */
    public void bind(InetSocketAddress address) {
        bind(arena -> SocketAddresses.encode(address, arena), address, SocketAddresses.text(address));
    }

    /**
     * Binds the socket to the local address of a look-up, rbind.
     *
     * @param info a passive result, or one with a source
     * @throws IllegalArgumentException if it has no local address
     * @throws RdmaException as in {@link #bind(InetSocketAddress)}; {@link RdmaException#isUnsupported()} for a native
     *     address on a host without an InfiniBand port
     */
    public void bind(AddressInfo info) {
        byte[] sockaddr = requireAddress(info.sourceSockaddr(), "local", info);
        try {
            bind(arena -> copy(sockaddr, arena), info.source().orElse(null), info.toString());
        } catch (RdmaException e) {
            throw info.explain(e);
        }
    }

    private synchronized void bind(
            Function<Arena, MemorySegment> encoding, @Nullable InetSocketAddress address, String text) {
        require("rbind", state == State.NEW, rdma_h.EINVAL(), "Only a new socket can be bound.");
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment sockaddr = encoding.apply(arena);
            check("rbind", text, guarded(fd -> RCalls.bind(fd, sockaddr)));
        } catch (RdmaException e) {
            throw PortInUse.explain(e, address, describe() + ", " + text);
        }
        state = State.BOUND;
        shown = "rsocket " + fd + " (bound to " + text + ")";
    }

    private static byte[] requireAddress(byte[] sockaddr, String which, AddressInfo info) {
        if (sockaddr.length == 0) {
            throw new IllegalArgumentException("there is no " + which + " address in '" + info + "'");
        }
        return sockaddr;
    }

    private static MemorySegment copy(byte[] bytes, Arena arena) {
        MemorySegment copy = arena.allocate(bytes.length, Long.BYTES);
        MemorySegment.copy(bytes, 0, copy, ValueLayout.JAVA_BYTE, 0, bytes.length);
        return copy;
    }

    /**
     * Begins to listen, rlisten. Set the options of accepted sockets before.
     *
     * @param backlog the most connections that wait to be accepted; at least 1
     * @throws RdmaException if the socket is not bound
     */
    public synchronized void listen(int backlog) {
        if (backlog < 1) {
            throw new IllegalArgumentException("backlog " + backlog + " is not at least 1");
        }
        require("rlisten", state == State.BOUND, rdma_h.EINVAL(), "Bind the socket first, and listen once.");
        check("rlisten", "backlog " + backlog, guarded(fd -> RCalls.listen(fd, backlog)));
        state = State.LISTENING;
        shown = shown.replace("bound to", "listening at");
    }

    /**
     * Accepts the next connection, raccept.
     *
     * @param timeout how long to wait for one
     * @return the connected socket, which the caller closes; it has the listener's options
     * @throws RdmaTimeoutException if none arrives in time
     * @throws RdmaException if the socket does not listen, or too many sockets are open
     */
    public RSocket accept(Duration timeout) {
        require("raccept", state == State.LISTENING, rdma_h.EINVAL(), "The socket must listen.");
        return ServiceTable.take(() -> acceptNext(timeout));
    }

    private RSocket acceptNext(Duration timeout) {
        Wait wait = new Wait(timeout);
        while (true) {
            long accepted = guarded(RCalls::accept);
            if (accepted >= 0) {
                RSocket socket = adopt((int) accepted, this);
                socket.shown = "rsocket " + accepted + " (accepted by " + shown + ")";
                return socket;
            }
            if (!wouldBlock()) {
                throw NativeCalls.failure("raccept", describe());
            }
            if (!wait.slice(rdma_h.POLLIN())) {
                throw new RdmaTimeoutException(
                        Cause.PEER_ABSENT, "connection to accept at " + describe(), wait.deadline, "");
            }
        }
    }

    /**
     * Connects to a listener, rconnect. After a failure or a timeout the socket can only be closed.
     *
     * @param target the peer
     * @param timeout for address and route resolution and the connection together
     * @throws RdmaTimeoutException if the connection was not established in time
     * @throws RdmaException ECONNREFUSED if nobody listens, ENETUNREACH or ENODEV if no RDMA device leads there …
     */
    public void connect(InetSocketAddress target, Duration timeout) {
        connect(arena -> SocketAddresses.encode(target, arena), SocketAddresses.text(target), timeout);
    }

    /**
     * Connects to the peer of a look-up, rconnect. To use its route, pass it to {@link #route(AddressInfo)} first.
     * After a failure or a timeout the socket can only be closed.
     *
     * @param info an active result
     * @param timeout for address and route resolution and the connection together
     * @throws IllegalArgumentException if it has no peer address
     * @throws RdmaTimeoutException if the connection was not established in time
     * @throws RdmaException as of {@link #connect(InetSocketAddress, Duration)}; {@link RdmaException#isUnsupported()} for a
     *     native address on a host without InfiniBand port
     */
    public void connect(AddressInfo info, Duration timeout) {
        byte[] sockaddr = requireAddress(info.destinationSockaddr(), "peer's", info);
        try {
            connect(arena -> copy(sockaddr, arena), info.toString(), timeout);
        } catch (RdmaException e) {
            throw info.explain(e);
        }
    }

    private void connect(Function<Arena, MemorySegment> address, String target, Duration timeout) {
        Wait wait = new Wait(timeout);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment sockaddr = address.apply(arena);
            synchronized (this) {
                require(
                        "rconnect",
                        state == State.NEW || state == State.BOUND,
                        rdma_h.EINVAL(),
                        "A socket connects once, and a listening socket can't connect.");
                state = State.CONNECTING;
            }
            boolean connected = false;
            try {
                long result = guarded(fd -> RCalls.connect(fd, sockaddr));
                if (result != 0 && Native.errno() != rdma_h.EINPROGRESS() && !wouldBlock()) {
                    throw NativeCalls.failure("rconnect", describe() + ", " + target);
                }
                if (result != 0) {
                    awaitConnection(target, wait);
                }
                connected = true;
            } finally {
                state = connected ? State.CONNECTED : State.FAILED;
            }
        }
        shown = "rsocket " + fd + " (connected to " + target + ")";
    }

    private void awaitConnection(String target, Wait wait) {
        while (!wait.ready()) {
            if (!wait.slice(rdma_h.POLLOUT())) {
                throw new RdmaTimeoutException(Cause.PEER_ABSENT, "connection to " + target, wait.deadline, describe());
            }
        }
        int error = option(rdma_h.SOL_SOCKET(), rdma_h.SO_ERROR());
        if (error != 0) {
            throw new RdmaException("rconnect", describe() + ", " + target, error);
        }
    }

    private void require(String call, boolean allowed, int errno, String cure) {
        if (!allowed) {
            // A closed socket reports that it is closed, in every state.
            enter();
            exit();
            throw new RdmaException(call, describe(), errno, cure);
        }
    }

    private void requireSendable(String call) {
        requireConnected(call);
        require(call, !sendingEnded, EPIPE, "This side has shut down its sending.");
        require(call, !disconnected, rdma_h.ECONNRESET(), "The connection has ended.");
    }

    private void requireConnected(String call) {
        require(call, state == State.CONNECTED, rdma_h.ENOTCONN(), "Connect the socket, or accept it, first.");
    }

    /**
     * Ends one or both directions of the connection, rshutdown. Returns when the peer's device has acknowledged all
     * data or the transport has given up, at the latest after {@value #CLOSING_SECONDS} s.
     *
     * @param direction the direction
     * @throws RdmaException if the socket is not connected
     * @throws RdmaTimeoutException if rshutdown has not returned by then; it is interrupted, and unacknowledged data
     *     may be lost
     */
    public void shutdown(Shutdown direction) {
        int how = switch (direction) {
            case READ -> rdma_h.SHUT_RD();
            case WRITE -> rdma_h.SHUT_WR();
            case BOTH -> rdma_h.SHUT_RDWR();
        };
        requireConnected("rshutdown");
        if (direction != Shutdown.READ) {
            sendingEnded = true;
        }
        DetachedCall call =
                DetachedCall.start("rshutdown " + fd, () -> guarded(fd -> RCalls.shutdown(fd, how)), () -> {});
        String named = "rshutdown(" + describe() + ", " + direction + ")";
        DetachedCall.Outcome outcome = call.await(CLOSING, INTERRUPTING, Duration.ZERO)
                .orElseThrow(() -> neverReturned(named, CLOSING.plus(INTERRUPTING), call));
        if (outcome.end() != DetachedCall.End.RETURNED) {
            throw cutShort(named);
        }
        if (outcome.result() < 0) {
            throw new RdmaException("rshutdown", describe() + ", " + direction, outcome.errno());
        }
    }

    /**
     * Returns the local address and port, rgetsockname.
     *
     * @throws RdmaException if the socket has none
     */
    public InetSocketAddress localAddress() {
        return address(false);
    }

    /**
     * Returns the peer's address and port, rgetpeername.
     *
     * @throws RdmaException if the socket has no peer
     */
    public InetSocketAddress remoteAddress() {
        return address(true);
    }

    private InetSocketAddress address(boolean peer) {
        if (peer) {
            requireConnected("rgetpeername");
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment storage = arena.allocate(sockaddr_storage.layout());
            MemorySegment length = arena.allocateFrom(ValueLayout.JAVA_INT, (int) storage.byteSize());
            check(peer ? "rgetpeername" : "rgetsockname", "", guarded(fd -> RCalls.name(peer, fd, storage, length)));
            InetSocketAddress address = SocketAddresses.decode(storage);
            if (address == null) {
                throw new RdmaException(
                        Cause.UNSUPPORTED,
                        "address family " + SocketAddresses.family(storage)
                                + " of an rsocket is neither IPv4 nor IPv6");
            }
            return address;
        }
    }

    // ---- data

    /**
     * Sends bytes, rsend. Waits until at least one is accepted.
     *
     * @param data the bytes to send; may be empty
     * @param timeout the longest wait for room
     * @param flags DONTWAIT to return 0 instead of waiting; WAITALL to send everything
     * @return the number of accepted bytes, possibly not all
     * @throws RdmaTimeoutException if the peer made no room in time
     * @throws RdmaException EPIPE after this side's shutdown, ECONNRESET if the connection has ended, ENOTCONN if there
     *     was none. As with TCP, bytes may be accepted and lost before this side notices that the peer has closed. A
     *     receive that returns -1 notices it.
     */
    public int send(MemorySegment data, Duration timeout, MessageFlag... flags) {
        if (MessageFlag.contains(flags, MessageFlag.PEEK)) {
            throw new IllegalArgumentException("PEEK is a flag of receiving");
        }
        return (int) transfer(true, data, timeout, flags);
    }

    /**
     * Sends the remaining bytes of a buffer like {@link #send(MemorySegment, Duration, MessageFlag...)}, and advances
     * its position past the accepted bytes.
     *
     * @param data the bytes to send, from its position to its limit
     * @param timeout the longest wait for room
     * @param flags DONTWAIT or WAITALL
     * @return the number of accepted bytes
     * @throws RdmaTimeoutException if the peer made no room in time
     * @throws RdmaException if the connection has ended, or there was none
     */
    public int send(ByteBuffer data, Duration timeout, MessageFlag... flags) {
        int count = send(MemorySegment.ofBuffer(data), timeout, flags);
        data.position(data.position() + count);
        return count;
    }

    /**
     * Sends all bytes.
     *
     * @param data the bytes to send
     * @param timeout the limit for all bytes together
     * @throws RdmaTimeoutException if the peer did not make room in time; the message has the number of sent bytes
     * @throws RdmaException if the connection has ended, or there was none
     */
    public void sendFully(MemorySegment data, Duration timeout) {
        long ignored = transfer(true, data, timeout, WAIT_ALL);
    }

    /**
     * Sends all remaining bytes of a buffer, and sets its position to its limit.
     *
     * @param data the bytes to send
     * @param timeout the limit for all bytes together
     * @throws RdmaTimeoutException if the peer did not make room in time; the message has the number of sent bytes
     * @throws RdmaException if the connection has ended, or there was none
     */
    public void sendFully(ByteBuffer data, Duration timeout) {
        sendFully(MemorySegment.ofBuffer(data), timeout);
        data.position(data.limit());
    }

    /**
     * Receives bytes, rrecv. Waits for at least one.
     *
     * @param into the writable segment to fill; an empty one receives nothing
     * @param timeout how long to wait
     * @param flags DONTWAIT to return 0 instead of waiting; PEEK to leave the bytes in the stream; WAITALL to fill the
     *     segment, which PEEK can't
     * @return the number of bytes received; -1 at the end of the stream, that is, after the peer's shutdown, close or death: the
     *     kernel disconnects a killed process
     * @throws RdmaTimeoutException if no byte arrived in time
     * @throws RdmaException EIO or ECONNRESET if the connection broke, ENOTCONN if there was none
     */
    public int receive(MemorySegment into, Duration timeout, MessageFlag... flags) {
        if (into.isReadOnly()) {
            throw new IllegalArgumentException("the segment to receive into is read-only");
        }
        if (MessageFlag.contains(flags, MessageFlag.PEEK) && MessageFlag.contains(flags, MessageFlag.WAITALL)) {
            throw new IllegalArgumentException("PEEK with WAITALL: PEEK returns only bytes that have arrived");
        }
        return (int) transfer(false, into, timeout, flags);
    }

    /**
     * Receives into the remaining room of a buffer, as {@link #receive(MemorySegment, Duration, MessageFlag...)} does, and
     * advances its position by as many bytes as were received.
     *
     * @param into where to put them, from its position to its limit
     * @param timeout how long to wait
     * @param flags DONTWAIT, PEEK or WAITALL
     * @return the number of bytes received; -1 at the end of the stream
     * @throws RdmaTimeoutException if no byte arrived in time
     * @throws RdmaException if the connection broke, or there was none
     */
    public int receive(ByteBuffer into, Duration timeout, MessageFlag... flags) {
        int count = receive(MemorySegment.ofBuffer(into), timeout, flags);
        if (count > 0) {
            into.position(into.position() + count);
        }
        return count;
    }

    /**
     * Fills a segment.
     *
     * @param into where to put the bytes, writable
     * @param timeout the limit for all bytes together
     * @throws RdmaTimeoutException if the bytes did not arrive in time; the message has the number of received bytes
     * @throws RdmaException if the stream ended before, or the connection broke
     */
    public void receiveFully(MemorySegment into, Duration timeout) {
        long count = receive(into, timeout, WAIT_ALL);
        if (count < into.byteSize()) {
            throw new RdmaException(
                    Cause.PEER_LOST,
                    "the stream of " + describe() + " ended after " + Math.max(count, 0) + " of " + into.byteSize()
                            + " bytes");
        }
    }

    /**
     * Fills the remaining room of a buffer, and sets its position to its limit.
     *
     * @param into where to put the bytes
     * @param timeout the limit for all bytes together
     * @throws RdmaTimeoutException if the bytes did not arrive in time; the message has the number of received bytes
     * @throws RdmaException if the stream ended before, or the connection broke
     */
    public void receiveFully(ByteBuffer into, Duration timeout) {
        receiveFully(MemorySegment.ofBuffer(into), timeout);
        into.position(into.limit());
    }

    /**
     * Waits until something can be received: data, the end of the stream, or the error that broke the connection.
     *
     * @param timeout how long at most
     * @return false if the time is over
     * @throws RdmaException if the socket is not connected, or the thread is interrupted
     */
    public boolean awaitReadable(Duration timeout) {
        requireConnected("rpoll");
        return await(rdma_h.POLLIN(), timeout);
    }

    /**
     * Waits until something can be sent, or the connection has broken.
     *
     * @param timeout how long at most
     * @return false if the time is over
     * @throws RdmaException if the socket is not connected, or the thread is interrupted
     */
    public boolean awaitWritable(Duration timeout) {
        requireConnected("rpoll");
        return await(rdma_h.POLLOUT(), timeout);
    }

    private boolean await(int events, Duration timeout) {
        Wait wait = new Wait(timeout);
        while (!wait.ready()) {
            if (!wait.slice(events)) {
                return false;
            }
        }
        return true;
    }

    private static final MessageFlag[] WAIT_ALL = {MessageFlag.WAITALL};

    private long transfer(boolean send, MemorySegment data, Duration timeout, MessageFlag[] flags) {
        long size = data.byteSize();
        if (size > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("a segment of " + size + " bytes exceeds the 2147483647 of one call");
        }
        if (send) {
            requireSendable("rsend");
        } else {
            requireConnected("rrecv");
        }
        if (size == 0) {
            return 0;
        }
        if (data.isNative()) {
            return transferNative(send, data, data, timeout, flags);
        }
        try (Arena arena = Arena.ofConfined()) {
            return transferNative(send, data, arena.allocate(Math.min(size, STAGING)), timeout, flags);
        }
    }

    private long transferNative(
            boolean send, MemorySegment data, MemorySegment window, Duration timeout, MessageFlag[] flags) {
        boolean staged = !data.isNative();
        boolean all = MessageFlag.contains(flags, MessageFlag.WAITALL);
        boolean dontWait = MessageFlag.contains(flags, MessageFlag.DONTWAIT);
        int nativeFlags = MessageFlag.nativeFlags(flags);
        long size = data.byteSize();
        // A call that does not wait reads no clock and creates no object: it is made very often.
        Wait wait = dontWait ? null : new Wait(timeout);
        long done = 0;
        while (true) {
            long length = Math.min(size - done, staged ? window.byteSize() : LARGEST_CALL);
            MemorySegment part = staged ? window : done == 0 ? data : data.asSlice(done);
            if (staged && send) {
                MemorySegment.copy(data, done, window, 0, length);
            }
            long count;
            begin();
            try {
                count = send
                        ? RCalls.send(fd, part, length, nativeFlags)
                        : RCalls.receive(fd, part, length, nativeFlags);
            } finally {
                exit();
            }
            if (count > 0) {
                if (staged && !send) {
                    MemorySegment.copy(window, 0, data, done, count);
                }
                done += count;
                if (done == size || !all) {
                    return done;
                }
                continue;
            }
            if (count == 0 && !send) {
                requireOrderlyEnd(done, size);
                return done == 0 ? -1 : done;
            }
            if (count < 0 && !wouldBlock()) {
                throw NativeCalls.failure(
                        send ? "rsend" : "rrecv", describe() + ", after " + done + " of " + size + " bytes");
            }
            if (wait == null) {
                return done;
            }
            if (!wait.slice(send ? rdma_h.POLLOUT() : rdma_h.POLLIN())) {
                throw new RdmaTimeoutException(
                        (send ? "room to send " : "data to receive ") + (all ? size + " bytes" : "") + " on "
                                + describe(),
                        wait.deadline,
                        done + " of " + size + " bytes were " + (send ? "sent" : "received"));
            }
        }
    }

    /** Throws if the connection broke: rrecv returns 0 both for that and for the end of the stream. */
    private void requireOrderlyEnd(long done, long size) {
        MemorySegment poll = POLL_FDS.get();
        fill(poll, 0, fd, 0);
        long result = guarded(ignored -> RCalls.pollNow(poll));
        int events = result > 0 ? note(poll) : 0;
        if ((events & POLLERR) != 0) {
            // Reading the error clears it; a second reader finds none.
            int error = option(rdma_h.SOL_SOCKET(), rdma_h.SO_ERROR());
            throw new RdmaException(
                    "rrecv",
                    describe() + ", after " + done + " of " + size + " bytes",
                    error == 0 ? rdma_h.ECONNRESET() : error,
                    "The connection broke.");
        }
    }

    private static void fill(MemorySegment polls, int index, int fd, int events) {
        MemorySegment poll = pollfd.asSlice(polls, index);
        pollfd.fd(poll, fd);
        pollfd.events(poll, (short) events);
        pollfd.revents(poll, (short) 0);
    }

    /** Returns the events of the socket, and notes the end of the connection. */
    private int note(MemorySegment polls) {
        int events = pollfd.revents(polls);
        // While connecting, an error means that the connect failed.
        if (state == State.CONNECTED && (events & (POLLERR | POLLHUP)) != 0) {
            disconnected = true;
        }
        return events;
    }

    // ---- remote memory

    /**
     * Allocates memory to which the peer writes with {@link #ioWrite}, riomap. Both sides need {@link #ioMapSize(int)}
     * before they connect.
     *
     * @param size in bytes, at least 1
     * @param offset the peer's offset of the mapping in bytes; with -1 the library chooses
     * @return the mapping; close it before the socket
     * @throws RdmaException if the socket is not connected or has no mapping left
     */
    public IoMapping ioMap(long size, long offset) {
        requireConnected("riomap");
        if (offset < -1) {
            throw new IllegalArgumentException("offset " + offset + " is negative");
        }
        return IoMapping.create(this, size, offset);
    }

    /**
     * Writes into the peer's mapped memory, riowrite. The peer's software gets no notification: send a message
     * afterwards.
     *
     * @param data the bytes to write; native or on the heap
     * @param offset the offset in the peer's mappings, in bytes
     * @param timeout for all of it
     * @throws RdmaTimeoutException if the send queue stayed full
     * @throws RdmaException if this side knows of no mapping at the offset
     */
    public void ioWrite(MemorySegment data, long offset, Duration timeout) {
        Wait wait = new Wait(timeout);
        long size = data.byteSize();
        requireSendable("riowrite");
        if (offset < 0) {
            throw new IllegalArgumentException("offset " + offset + " is negative");
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment source = data.isNative() ? data : arena.allocate(size).copyFrom(data);
            for (long done = 0; done < size; ) {
                long from = done;
                long count = guarded(fd ->
                        RCalls.ioWrite(fd, source.asSlice(from), size - from, offset + from, rdma_h.MSG_DONTWAIT()));
                if (count > 0) {
                    done += count;
                } else if (count == 0) {
                    throw new RdmaException("riowrite(" + describe() + ", " + size + " bytes, offset " + offset
                            + ") wrote " + done + ": the peer has announced no mapping at offset " + (offset + done));
                } else if (!wouldBlock()) {
                    throw NativeCalls.failure("riowrite", describe() + ", " + size + " bytes, offset " + offset);
                } else if (!wait.slice(rdma_h.POLLOUT())) {
                    throw new RdmaTimeoutException(
                            "room to write " + size + " bytes on " + describe(),
                            wait.deadline,
                            done + " bytes were written");
                }
            }
        }
    }

    // ---- options

    /**
     * Sets the size of the send buffer in bytes, SO_SNDBUF; as for TCP, the library makes it twice as large. Call it
     * before connecting or listening. Returns this socket.
     */
    public RSocket sendBufferSize(int bytes) {
        return setOption("SO_SNDBUF", rdma_h.SOL_SOCKET(), rdma_h.SO_SNDBUF(), bytes);
    }

    /** Returns the size of the send buffer in bytes, twice what was set. */
    public int sendBufferSize() {
        return option(rdma_h.SOL_SOCKET(), rdma_h.SO_SNDBUF());
    }

    /**
     * Sets the size of the receive buffer in bytes, SO_RCVBUF; as for TCP, the library makes it twice as large. Call it
     * before connecting or listening. Returns this socket.
     */
    public RSocket receiveBufferSize(int bytes) {
        return setOption("SO_RCVBUF", rdma_h.SOL_SOCKET(), rdma_h.SO_RCVBUF(), bytes);
    }

    /** Returns the size of the receive buffer in bytes, twice what was set. */
    public int receiveBufferSize() {
        return option(rdma_h.SOL_SOCKET(), rdma_h.SO_RCVBUF());
    }

    /** Sets TCP_NODELAY. rsockets stores the value but ignores it, as they never delay. Returns this socket. */
    public RSocket noDelay(boolean on) {
        return setOption("TCP_NODELAY", rdma_h.IPPROTO_TCP(), rdma_h.TCP_NODELAY(), on ? 1 : 0);
    }

    /** Returns TCP_NODELAY. */
    public boolean noDelay() {
        return option(rdma_h.IPPROTO_TCP(), rdma_h.TCP_NODELAY()) != 0;
    }

    /** Allows a listener to bind to a port that earlier connections still use, SO_REUSEADDR. Returns this socket. */
    public RSocket reuseAddress(boolean on) {
        return setOption("SO_REUSEADDR", rdma_h.SOL_SOCKET(), rdma_h.SO_REUSEADDR(), on ? 1 : 0);
    }

    /** Returns SO_REUSEADDR. */
    public boolean reuseAddress() {
        return option(rdma_h.SOL_SOCKET(), rdma_h.SO_REUSEADDR()) != 0;
    }

    /**
     * Probes an idle connection, SO_KEEPALIVE with TCP_KEEPIDLE.
     *
     * @param idle the time without traffic, in whole seconds, at least one; {@link Duration#ZERO} switches probing off
     * @return this socket
     */
    public RSocket keepAlive(Duration idle) {
        if (idle.isZero()) {
            return setOption("SO_KEEPALIVE", rdma_h.SOL_SOCKET(), SO_KEEPALIVE, 0);
        }
        if (idle.isNegative() || idle.toSeconds() < 1 || idle.toSeconds() > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("keep-alive after " + idle + " is not at least 1 s");
        }
        // The idle time first: SO_KEEPALIVE starts the probing with the current value.
        setOption("TCP_KEEPIDLE", rdma_h.IPPROTO_TCP(), TCP_KEEPIDLE, (int) idle.toSeconds());
        return setOption("SO_KEEPALIVE", rdma_h.SOL_SOCKET(), SO_KEEPALIVE, 1);
    }

    /** Returns the idle time after which the connection is probed; {@link Duration#ZERO} if it is not. */
    public Duration keepAlive() {
        return option(rdma_h.SOL_SOCKET(), SO_KEEPALIVE) == 0
                ? Duration.ZERO
                : Duration.ofSeconds(option(rdma_h.IPPROTO_TCP(), TCP_KEEPIDLE));
    }

    /**
     * Sets up to how many bytes are sent inline, RDMA_INLINE. Call it before connecting or listening. Returns this
     * socket.
     */
    public RSocket inline(int bytes) {
        return setOption("RDMA_INLINE", rdma_h.SOL_RDMA(), rdma_h.RDMA_INLINE(), bytes);
    }

    /** Returns up to how many bytes are sent inline. */
    public int inline() {
        return option(rdma_h.SOL_RDMA(), rdma_h.RDMA_INLINE());
    }

    /**
     * Sets the entries of the send queue, RDMA_SQSIZE; the library applies the device's limits. Call it before
     * connecting or listening. Returns this socket.
     */
    public RSocket sendQueueSize(int entries) {
        return setOption("RDMA_SQSIZE", rdma_h.SOL_RDMA(), rdma_h.RDMA_SQSIZE(), entries);
    }

    /** Returns the entries of the send queue. */
    public int sendQueueSize() {
        return option(rdma_h.SOL_RDMA(), rdma_h.RDMA_SQSIZE());
    }

    /**
     * Sets the entries of the receive queue, RDMA_RQSIZE. Call it before connecting or listening. Returns this socket.
     */
    public RSocket receiveQueueSize(int entries) {
        return setOption("RDMA_RQSIZE", rdma_h.SOL_RDMA(), rdma_h.RDMA_RQSIZE(), entries);
    }

    /** Returns the entries of the receive queue. */
    public int receiveQueueSize() {
        return option(rdma_h.SOL_RDMA(), rdma_h.RDMA_RQSIZE());
    }

    /**
     * Sets how many of this side's mappings the peer can write to, RDMA_IOMAPSIZE; the library rounds it up. Call it
     * before connecting or listening. Returns this socket.
     */
    public RSocket ioMapSize(int mappings) {
        return setOption("RDMA_IOMAPSIZE", rdma_h.SOL_RDMA(), rdma_h.RDMA_IOMAPSIZE(), mappings);
    }

    /** Returns the largest number of mappings. */
    public int ioMapSize() {
        return option(rdma_h.SOL_RDMA(), rdma_h.RDMA_IOMAPSIZE());
    }

    /**
     * Sets the route of a look-up, RDMA_ROUTE, so that connecting does not resolve one. A look-up has a route on
     * InfiniBand with ibacm(8). Without a route this has no effect, as in rstream -T r. Call it before connecting.
     *
     * @param info an active result
     * @return this socket
     * @throws RdmaException EINVAL if the route does not belong to the address
     */
    public RSocket route(AddressInfo info) {
        byte[] route = info.route();
        return route.length == 0
                ? this
                : setOption(
                        "RDMA_ROUTE",
                        rdma_h.SOL_RDMA(),
                        rdma_h.RDMA_ROUTE(),
                        route.length + " bytes",
                        arena -> copy(route, arena));
    }

    private RSocket setOption(String name, int level, int option, int value) {
        return setOption(
                name, level, option, Integer.toString(value), arena -> arena.allocateFrom(ValueLayout.JAVA_INT, value));
    }

    private RSocket setOption(
            String name, int level, int option, String value, Function<Arena, MemorySegment> encoding) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment pointer = encoding.apply(arena);
            long result = guarded(fd -> RCalls.setOption(fd, level, option, pointer));
            if (result != 0) {
                int errno = Native.errno();
                throw new RdmaException(
                        "rsetsockopt",
                        describe() + ", " + name + ", " + value,
                        errno,
                        errno == rdma_h.EINVAL()
                                ? "Sizes must be positive, and set before the socket connects or listens."
                                : "");
            }
        }
        return this;
    }

    private int option(int level, int option) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocateFrom(ValueLayout.JAVA_INT, 0);
            MemorySegment length = arena.allocateFrom(ValueLayout.JAVA_INT, (int) value.byteSize());
            check(
                    "rgetsockopt",
                    "level " + level + ", option " + option,
                    guarded(fd -> RCalls.option(fd, level, option, value, length)));
            return value.get(ValueLayout.JAVA_INT, 0);
        }
    }

    // ---- waiting and closing

    private static boolean wouldBlock() {
        int errno = Native.errno();
        return errno == rdma_h.EAGAIN() || errno == rdma_h.EINTR();
    }

    /** The deadline of a method. */
    private final class Wait {
        private final Deadline deadline;
        private boolean ready;

        Wait(Duration timeout) {
            this.deadline = Deadline.after(timeout.isNegative() ? Duration.ZERO : timeout);
        }

        boolean ready() {
            return ready;
        }

        /**
         * Waits for an event until the deadline, at most one slice.
         *
         * @return false if the deadline has passed
         */
        boolean slice(int events) {
            if (Thread.currentThread().isInterrupted()) {
                throw new RdmaException(Cause.INTERRUPTED, "interrupted while waiting on " + describe());
            }
            if (deadline.isOver()) {
                return false;
            }
            Alarm alarm = events == rdma_h.POLLOUT() ? sending : receiving;
            MemorySegment polls = POLL_FDS.get();
            fill(polls, 0, fd, events);
            fill(polls, 1, alarm.fd(), rdma_h.POLLIN());
            int result;
            begin();
            try {
                alarm.set(Math.max(1, deadline.millis(SLICE_MILLIS)));
                result = RCalls.pollUntilReady(polls, 2);
            } finally {
                exit();
            }
            if (result < 0) {
                if (Native.errno() != rdma_h.EINTR()) {
                    throw NativeCalls.failure("rpoll", describe());
                }
                return true;
            }
            int seen = note(polls);
            ready = seen != 0;
            if ((seen & POLLNVAL) != 0) {
                throw new RdmaException("rpoll(" + describe() + ") does not know the socket");
            }
            return true;
        }
    }

    /**
     * Closes the connection in both directions and frees the socket, rclose. It waits until the peer's device has
     * acknowledged all data or the transport has given up. It does not wait until the peer reads the data. After
     * {@value #CLOSING_SECONDS} s it is interrupted, and still frees the socket.
     *
     * <p>rclose waits for ever if the device loses a completion event, and possibly if the peer is gone. The interrupt
     * ends that: rclose returns within 2 s, and this method throws.
     *
     * <p>With soft-RoCE it can take a minute if the peer sends while the connection ends: the kernel then waits 50 s for the last
     * user of the socket's memory (0.2 s before 2025). No interrupt ends that. rclose then returns more than 2 s after the first
     * interrupt, and this method only logs a warning. It is not known whether the peer's device had acknowledged all data before
     * the interrupt. Usually it had. If it had not, the rest is lost.
     *
     * @throws RdmaTimeoutException if rclose returned within 2 s after it was interrupted: the socket is closed, but unacknowledged
     *     data may be lost. If rclose does not return within a minute after that, the socket stays in the ledger and can't be used. It
     *     is released when rclose returns
     */
    @Override
    protected void release() {
        DetachedCall call = closing;
        if (call == null) {
            closingSince = System.nanoTime();
            call = DetachedCall.start("rclose " + fd, () -> RCalls.close(fd), this::closeAfterAll);
            closing = call;
        }
        DetachedCall waiting = call;
        String named = "rclose(" + describe() + ")";
        long begin = closingSince;
        DetachedCall.Outcome outcome = call.await(CLOSING, INTERRUPTING, RELEASING)
                .orElseThrow(() -> neverReturned(named, Duration.ofNanos(System.nanoTime() - begin), waiting));
        if (outcome.end() == DetachedCall.End.RETURNED_LATE) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    "{0} took {1} s, and no interrupt ended it: the kernel was releasing the socket''s memory. soft-RoCE waits"
                            + " up to 50 s if a packet of the peer is in progress. If the peer''s device did not acknowledge all"
                            + " data before, the rest is lost",
                    named,
                    Duration.ofNanos(System.nanoTime() - begin).toSeconds());
        }
        if (outcome.result() != 0) {
            closing = null;
            throw new RdmaException("rclose", describe(), outcome.errno());
        }
        cutShort = outcome.end() == DetachedCall.End.INTERRUPTED;
        ServiceTable.give();
        sending.close();
        receiving.close();
    }

    @Override
    protected void released() {
        if (cutShort) {
            throw cutShort("rclose(" + describe() + ")");
        }
    }

    private static RdmaTimeoutException cutShort(String call) {
        return RdmaTimeoutException.reported(
                Cause.TIMEOUT,
                "end of " + call,
                CLOSING,
                "the peer's device did not acknowledge and the transport did not give up, or this device lost a"
                        + " completion event; the call was interrupted, and unacknowledged data may be lost");
    }

    private static RdmaTimeoutException neverReturned(String call, Duration waited, DetachedCall waiting) {
        return RdmaTimeoutException.reported(Cause.TIMEOUT, "end of " + call, waited, waiting.whereToLook());
    }

    /** Completes a {@link #close} that gave up waiting. That call may not have returned yet. */
    private void closeAfterAll() {
        for (int turn = 0; !isClosed() && turn < 1000; turn++) {
            try {
                close();
            } catch (RdmaTimeoutException e) {
                // The caller of close already got an exception.
            }
            LockSupport.parkNanos(1_000_000);
        }
    }

    @Override
    public String describe() {
        return shown;
    }
}
