package io.rdmatest.rsocket;

import io.rdmatest.Cause;
import io.rdmatest.NativeResource;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.cm.AddressInfo;
import io.rdmatest.ffi.pollfd;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.ffi.sockaddr_storage;
import io.rdmatest.internal.Native;
import io.rdmatest.internal.PortInUse;
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
 * <p>The socket is non-blocking inside. A method that waits takes a timeout, waits in slices of rpoll, and throws
 * {@link RdmaTimeoutException} when the time is over; an interrupt ends it with an {@link RdmaException} and leaves the
 * thread's interrupt status set. One thread may send while another receives. Closing from a third thread ends their
 * waits with an {@link IllegalStateException}.
 *
 * <p>Buffers are memory segments and byte buffers. Native ones are handed to librdmacm as they are; those on the heap go
 * through a copy.
 *
 * <p>At most 63 sockets can be open in one JVM, those that were accepted and those that listen included, or as many as the
 * system property {@value #SOCKETS} says, up to 16383. With more than it was prepared for librdmacm goes wrong.
 */
public final class RSocket extends NativeResource {

    /** The system property with the most sockets that may be open at a time in this JVM: 1 to 16383, by default 63. */
    public static final String SOCKETS = "rdma.rsockets";

    /**
     * Milliseconds of one rpoll. Bounds how long an interrupt or a close from another thread goes unseen, and what a
     * wake-up costs that another thread's poll of the same completion queue took away.
     */
    private static final int SLICE_MILLIS = 20;

    /** The most bytes that one native call is given: their count fits into an int. */
    private static final long LARGEST_CALL = 1L << 30;

    private static final long STAGING = 64 * 1024;

    /** How long the calls take at most that wait for the peer's device, in seconds. */
    private static final int CLOSING_SECONDS = 10;

    private static final Duration CLOSING = Duration.ofSeconds(CLOSING_SECONDS);

    /** What waits for a completion event in the kernel: ib_uverbs_event_read, called by ib_uverbs_comp_event_read. */
    private static final String COMPLETION_EVENT = "event_read";

    /** Where soft-RoCE waits for the last user of memory that is deregistered: __rxe_cleanup. */
    private static final String LAST_USER = "rxe_cleanup";

    /**
     * How long a call may wait there. The kernel gives up after 50 s, and frees the memory. It has to where a packet of the
     * peer's was being worked on when the queue pair went to the error state: its responder keeps the memory that it looked up
     * until the queue pair is destroyed, and rclose deregisters memory first.
     */
    private static final Duration LAST_USER_LIMIT = Duration.ofSeconds(60);

    /** How long an interrupted rclose may take to return: it frees memory and queue pairs then. */
    private static final Duration INTERRUPTING = Duration.ofSeconds(2);

    private static final System.Logger LOG = System.getLogger(RSocket.class.getName());

    // Linux; not among the generated constants.
    private static final int SO_KEEPALIVE = 9;
    private static final int TCP_KEEPIDLE = 4;
    private static final int EPIPE = 32;
    private static final int POLLERR = 0x8;
    private static final int POLLHUP = 0x10;
    private static final int POLLNVAL = 0x20;

    /** Two: the socket's, and that of the alarm that ends the wait. */
    private static final ThreadLocal<MemorySegment> POLL_FDS =
            ThreadLocal.withInitial(() -> pollfd.allocateArray(2, Arena.ofAuto()));

    /**
     * What the socket has become. Kept here because librdmacm does not check it everywhere: rsend on a socket that was
     * never connected follows a null pointer and takes the process down.
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
    /** One for each direction: a thread that waits must not put off the wake-up of one that waits for the other. */
    private final Alarm sending;

    private final Alarm receiving;
    private volatile State state;
    private volatile String shown;

    /**
     * Whether this side has shut its sending down. Kept here because rsend looks at it only when it is out of credits, and
     * takes the bytes otherwise.
     */
    private volatile boolean sendingEnded;

    /** Whether librdmacm was seen to have lost the connection, or ended it with the peer. The same holds for it. */
    private volatile boolean disconnected;

    /** The rclose under way, if {@link #close} was called. */
    private volatile @Nullable DetachedCall closing;

    /** Where in the kernel rclose waited when it was interrupted; null if it was not. Set by the one that closes. */
    private @Nullable String cutShortIn;

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
     * @throws RdmaException if the RDMA stack is not there or not permitted, or as many sockets are open as there may be
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
     * @throws RdmaException if the RDMA stack is not there or not permitted, or as many sockets are open as there may be
     */
    public static RSocket stream(StandardProtocolFamily family) {
        Native.requireLibraries();
        int domain = switch (family) {
            case INET -> rdma_h.AF_INET();
            case INET6 -> rdma_h.AF_INET6();
            default -> throw new IllegalArgumentException(family + " is neither INET nor INET6");
        };
        return stream(domain, family.toString());
    }

    /**
     * Creates an unconnected stream socket for the addresses of a look-up, of IPv4, IPv6 or native InfiniBand.
     *
     * @param info the look-up of what to {@link #bind(AddressInfo) bind} or {@link #connect(AddressInfo, Duration) connect} to
     * @return the socket
     * @throws io.rdmatest.NativeLibraryException if librdmacm is not installed
     * @throws RdmaException if the RDMA stack is not there or not permitted, or as many sockets are open as there may be
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
                throw Native.failure("rsocket", family + ", SOCK_STREAM");
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
                throw Native.failure("rfcntl", "rsocket " + fd + ", F_SETFL, O_NONBLOCK");
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
     * Runs one native call with the descriptor, which can't be closed, and so not be reused, before it returns.
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
     * Begins a native call, to be followed by exit(). An rclose that was given up is under way all the same, and frees the
     * socket when it comes back.
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
            throw Native.failure(call, describe() + (operands.isEmpty() ? "" : ", " + operands));
        }
    }

    // ---- connections

    /**
     * Binds the socket to a local address, rbind.
     *
     * @param address of an interface with an RDMA device, or the wildcard address; port 0 chooses one
     * @throws RdmaException EADDRINUSE if the port is taken; EADDRNOTAVAIL or ENODEV if the address is none of an RDMA device
     *     of this host
     */
    public void bind(InetSocketAddress address) {
        bind(arena -> SocketAddresses.encode(address, arena), address, text(address));
    }

    /**
     * Binds the socket to the local address of a look-up, rbind.
     *
     * @param info a passive answer, or one with a source
     * @throws IllegalArgumentException if there is no local address in it
     * @throws RdmaException as of {@link #bind(InetSocketAddress)}; {@link RdmaException#isUnsupported()} for a native
     *     address on a host without InfiniBand port
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
     * Begins to accept connections, rlisten. Options that the accepted sockets are to have must be set before.
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
     * @throws RdmaTimeoutException if none came
     * @throws RdmaException if the socket does not listen, or as many sockets are open as there may be
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
                throw Native.failure("raccept", describe());
            }
            if (!wait.slice(rdma_h.POLLIN())) {
                throw new RdmaTimeoutException(Cause.PEER_ABSENT, "connection to accept at " + describe(), timeout, "");
            }
        }
    }

    /**
     * Connects to a listener, rconnect. After a failure or a timeout the socket can only be closed.
     *
     * @param target the peer
     * @param timeout for address and route resolution and the connection together
     * @throws RdmaTimeoutException if the connection was not established in time
     * @throws RdmaException ECONNREFUSED if no one listens, ENETUNREACH or ENODEV if no RDMA device leads there …
     */
    public void connect(InetSocketAddress target, Duration timeout) {
        connect(arena -> SocketAddresses.encode(target, arena), text(target), timeout);
    }

    /**
     * Connects to the peer of a look-up, rconnect. A route in it spares the look-up of another if it was given to
     * {@link #route(AddressInfo)}. After a failure or a timeout the socket can only be closed.
     *
     * @param info an active answer
     * @param timeout for address and route resolution and the connection together
     * @throws IllegalArgumentException if there is no peer's address in it
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
                        "A socket connects once, and one that listens never does.");
                state = State.CONNECTING;
            }
            boolean connected = false;
            try {
                long result = guarded(fd -> RCalls.connect(fd, sockaddr));
                if (result != 0 && Native.errno() != rdma_h.EINPROGRESS() && !wouldBlock()) {
                    throw Native.failure("rconnect", describe() + ", " + target);
                }
                if (result != 0) {
                    awaitConnection(target, wait, timeout);
                }
                connected = true;
            } finally {
                state = connected ? State.CONNECTED : State.FAILED;
            }
        }
        shown = "rsocket " + fd + " (connected to " + target + ")";
    }

    private void awaitConnection(String target, Wait wait, Duration timeout) {
        while (!wait.ready()) {
            if (!wait.slice(rdma_h.POLLOUT())) {
                throw new RdmaTimeoutException(Cause.PEER_ABSENT, "connection to " + target, timeout, describe());
            }
        }
        int error = option(rdma_h.SOL_SOCKET(), rdma_h.SO_ERROR());
        if (error != 0) {
            throw new RdmaException("rconnect", describe() + ", " + target, error);
        }
    }

    private void require(String call, boolean allowed, int errno, String cure) {
        if (!allowed) {
            // A closed socket says that it is closed, whatever it was before.
            enter();
            exit();
            throw new RdmaException(call, describe(), errno, cure);
        }
    }

    private void requireSendable(String call) {
        requireConnected(call);
        require(call, !sendingEnded, EPIPE, "This side has shut its sending down.");
        require(call, !disconnected, rdma_h.ECONNRESET(), "The connection has ended.");
    }

    private void requireConnected(String call) {
        require(call, state == State.CONNECTED, rdma_h.ENOTCONN(), "Connect the socket, or accept it, first.");
    }

    /**
     * Ends one or both directions of the connection, rshutdown. Returns when everything sent has been acknowledged by the
     * peer's device or the transport has given the peer up, and after {@value #CLOSING_SECONDS} s at the latest.
     *
     * @param direction which direction
     * @throws RdmaException if the socket is not connected
     * @throws RdmaTimeoutException if rshutdown has not returned by then; it is interrupted, and what the peer's device has
     *     not acknowledged may be lost
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
        DetachedCall call = DetachedCall.start(
                "rshutdown " + fd, () -> guarded(fd -> RCalls.shutdown(fd, how)), COMPLETION_EVENT, () -> {});
        String named = "rshutdown(" + describe() + ", " + direction + ")";
        DetachedCall.Outcome outcome = call.await(CLOSING, INTERRUPTING)
                .orElseThrow(() -> neverReturned(named, CLOSING.plus(INTERRUPTING), call));
        if (outcome.interruptedIn() != null) {
            throw cutShort(named, outcome.interruptedIn());
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
            return SocketAddresses.decode(storage);
        }
    }

    // ---- data

    /**
     * Sends bytes, rsend: waits until at least one can be taken.
     *
     * @param data what to send; may be empty, which sends nothing
     * @param timeout how long to wait for room
     * @param flags DONTWAIT to return 0 instead of waiting; WAITALL to send everything
     * @return the number of bytes taken, possibly fewer than given
     * @throws RdmaTimeoutException if the peer made no room in time
     * @throws RdmaException EPIPE after this side's shutdown, ECONNRESET if the connection has ended, ENOTCONN if there was
     *     none. As with TCP, bytes can be taken, and lost, before this side notices that the peer has closed; a receive
     *     that returns -1 makes it notice.
     */
    public int send(MemorySegment data, Duration timeout, MessageFlag... flags) {
        if (MessageFlag.contains(flags, MessageFlag.PEEK)) {
            throw new IllegalArgumentException("PEEK is a flag of receiving");
        }
        return (int) transfer(true, data, timeout, flags);
    }

    /**
     * Sends the remaining bytes of a buffer, as {@link #send(MemorySegment, Duration, MessageFlag...)} does, and advances
     * its position by as many as were taken.
     *
     * @param data what to send, from its position to its limit
     * @param timeout how long to wait for room
     * @param flags DONTWAIT or WAITALL
     * @return the number of bytes taken
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
     * @param data what to send
     * @param timeout for all of it together
     * @throws RdmaTimeoutException if the peer did not make room in time; says how many bytes were sent
     * @throws RdmaException if the connection has ended, or there was none
     */
    public void sendFully(MemorySegment data, Duration timeout) {
        long ignored = transfer(true, data, timeout, WAIT_ALL);
    }

    /**
     * Sends all remaining bytes of a buffer, and sets its position to its limit.
     *
     * @param data what to send
     * @param timeout for all of it together
     * @throws RdmaTimeoutException if the peer did not make room in time; says how many bytes were sent
     * @throws RdmaException if the connection has ended, or there was none
     */
    public void sendFully(ByteBuffer data, Duration timeout) {
        sendFully(MemorySegment.ofBuffer(data), timeout);
        data.position(data.limit());
    }

    /**
     * Receives bytes, rrecv: waits until at least one is there.
     *
     * @param into where to put them, writable; an empty one receives nothing
     * @param timeout how long to wait
     * @param flags DONTWAIT to return 0 instead of waiting; PEEK to leave the bytes in the stream; WAITALL to fill the
     *     segment, which PEEK can't
     * @return the number of bytes received; -1 at the end of the stream, that is, after the peer's shutdown, close or death:
     *     a killed process is disconnected by its kernel
     * @throws RdmaTimeoutException if nothing came in time
     * @throws RdmaException EIO or ECONNRESET if the connection broke, ENOTCONN if there was none
     */
    public int receive(MemorySegment into, Duration timeout, MessageFlag... flags) {
        if (into.isReadOnly()) {
            throw new IllegalArgumentException("the segment to receive into is read-only");
        }
        if (MessageFlag.contains(flags, MessageFlag.PEEK) && MessageFlag.contains(flags, MessageFlag.WAITALL)) {
            throw new IllegalArgumentException("PEEK with WAITALL: the stream hands out no more than has arrived");
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
     * @throws RdmaTimeoutException if nothing came in time
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
     * @param timeout for all of it together
     * @throws RdmaTimeoutException if the bytes did not come in time; says how many did
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
     * @param timeout for all of it together
     * @throws RdmaTimeoutException if the bytes did not come in time; says how many did
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
        // Who does not wait pays for no clock and no object: such a call is made again and again.
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
                throw Native.failure(
                        send ? "rsend" : "rrecv", describe() + ", after " + done + " of " + size + " bytes");
            }
            if (wait == null) {
                return done;
            }
            if (!wait.slice(send ? rdma_h.POLLOUT() : rdma_h.POLLIN())) {
                throw new RdmaTimeoutException(
                        (send ? "room to send " : "data to receive ") + (all ? size + " bytes" : "") + " on "
                                + describe(),
                        timeout,
                        done + " of " + size + " bytes were " + (send ? "sent" : "received"));
            }
        }
    }

    /** Tells the end of the stream from a broken connection, for which rrecv returns 0 as well. */
    private void requireOrderlyEnd(long done, long size) {
        MemorySegment poll = POLL_FDS.get();
        fill(poll, 0, fd, 0);
        long result = guarded(ignored -> RCalls.pollNow(poll));
        int events = result > 0 ? note(poll) : 0;
        if ((events & POLLERR) != 0) {
            // Reading the error takes it away; the second reader finds none.
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

    /** Returns the events of the socket, the first of those polled, and remembers what ends the sending. */
    private int note(MemorySegment polls) {
        int events = pollfd.revents(polls);
        // While it connects, an error means that it could not.
        if (state == State.CONNECTED && (events & (POLLERR | POLLHUP)) != 0) {
            disconnected = true;
        }
        return events;
    }

    // ---- remote memory

    /**
     * Allocates memory that the peer writes to with {@link #ioWrite}, riomap. Needs {@link #ioMapSize(int)} on the peer's
     * side as well, before the connection.
     *
     * @param size in bytes, at least 1
     * @param offset where the peer shall address it, in bytes; -1 lets the library choose
     * @return the mapping, to be closed before the socket
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
     * Writes into the peer's mapped memory, riowrite. The peer's software is not told: send something after it.
     *
     * @param data what to write; native or on the heap
     * @param offset where, in the peer's mappings, in bytes
     * @param timeout for all of it
     * @throws RdmaTimeoutException if the send queue stayed full
     * @throws RdmaException if the peer has mapped nothing at the offset, as far as this side knows
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
                    throw Native.failure("riowrite", describe() + ", " + size + " bytes, offset " + offset);
                } else if (!wait.slice(rdma_h.POLLOUT())) {
                    throw new RdmaTimeoutException(
                            "room to write " + size + " bytes on " + describe(), timeout, done + " bytes were written");
                }
            }
        }
    }

    // ---- options

    /**
     * Sets the size of the send buffer in bytes, SO_SNDBUF; as for TCP, the library makes it twice as large. Before connecting
     * or listening. Returns this socket.
     */
    public RSocket sendBufferSize(int bytes) {
        return setOption("SO_SNDBUF", rdma_h.SOL_SOCKET(), rdma_h.SO_SNDBUF(), bytes);
    }

    /** Returns the size of the send buffer in bytes, twice what was set. */
    public int sendBufferSize() {
        return option(rdma_h.SOL_SOCKET(), rdma_h.SO_SNDBUF());
    }

    /**
     * Sets the size of the receive buffer in bytes, SO_RCVBUF; as for TCP, the library makes it twice as large. Before connecting
     * or listening. Returns this socket.
     */
    public RSocket receiveBufferSize(int bytes) {
        return setOption("SO_RCVBUF", rdma_h.SOL_SOCKET(), rdma_h.SO_RCVBUF(), bytes);
    }

    /** Returns the size of the receive buffer in bytes, twice what was set. */
    public int receiveBufferSize() {
        return option(rdma_h.SOL_SOCKET(), rdma_h.SO_RCVBUF());
    }

    /** Sets TCP_NODELAY, which rsockets keeps and otherwise ignores: it never delays. Returns this socket. */
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
     * @param idle after how long without traffic, in whole seconds, at least one; {@link Duration#ZERO} switches it off
     * @return this socket
     */
    public RSocket keepAlive(Duration idle) {
        if (idle.isZero()) {
            return setOption("SO_KEEPALIVE", rdma_h.SOL_SOCKET(), SO_KEEPALIVE, 0);
        }
        if (idle.isNegative() || idle.toSeconds() < 1 || idle.toSeconds() > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("keep-alive after " + idle + " is not at least 1 s");
        }
        // The idle time first: switching on begins the probing with the time that is set then.
        setOption("TCP_KEEPIDLE", rdma_h.IPPROTO_TCP(), TCP_KEEPIDLE, (int) idle.toSeconds());
        return setOption("SO_KEEPALIVE", rdma_h.SOL_SOCKET(), SO_KEEPALIVE, 1);
    }

    /** Returns the idle time after which the connection is probed; {@link Duration#ZERO} if it is not. */
    public Duration keepAlive() {
        return option(rdma_h.SOL_SOCKET(), SO_KEEPALIVE) == 0
                ? Duration.ZERO
                : Duration.ofSeconds(option(rdma_h.IPPROTO_TCP(), TCP_KEEPIDLE));
    }

    /** Sets up to how many bytes are sent inline, RDMA_INLINE. Before connecting or listening. Returns this socket. */
    public RSocket inline(int bytes) {
        return setOption("RDMA_INLINE", rdma_h.SOL_RDMA(), rdma_h.RDMA_INLINE(), bytes);
    }

    /** Returns up to how many bytes are sent inline. */
    public int inline() {
        return option(rdma_h.SOL_RDMA(), rdma_h.RDMA_INLINE());
    }

    /**
     * Sets the entries of the send queue, RDMA_SQSIZE; the library keeps to the device's limits. Before connecting or
     * listening. Returns this socket.
     */
    public RSocket sendQueueSize(int entries) {
        return setOption("RDMA_SQSIZE", rdma_h.SOL_RDMA(), rdma_h.RDMA_SQSIZE(), entries);
    }

    /** Returns the entries of the send queue. */
    public int sendQueueSize() {
        return option(rdma_h.SOL_RDMA(), rdma_h.RDMA_SQSIZE());
    }

    /** Sets the entries of the receive queue, RDMA_RQSIZE. Before connecting or listening. Returns this socket. */
    public RSocket receiveQueueSize(int entries) {
        return setOption("RDMA_RQSIZE", rdma_h.SOL_RDMA(), rdma_h.RDMA_RQSIZE(), entries);
    }

    /** Returns the entries of the receive queue. */
    public int receiveQueueSize() {
        return option(rdma_h.SOL_RDMA(), rdma_h.RDMA_RQSIZE());
    }

    /**
     * Sets how many of this side's mappings the peer can write to, RDMA_IOMAPSIZE; the library rounds it up. Before
     * connecting or listening. Returns this socket.
     */
    public RSocket ioMapSize(int mappings) {
        return setOption("RDMA_IOMAPSIZE", rdma_h.SOL_RDMA(), rdma_h.RDMA_IOMAPSIZE(), mappings);
    }

    /** Returns how many mappings there can be. */
    public int ioMapSize() {
        return option(rdma_h.SOL_RDMA(), rdma_h.RDMA_IOMAPSIZE());
    }

    /**
     * Gives the socket the route of a look-up, RDMA_ROUTE, so that connecting needs not ask for one. A look-up has a route
     * on InfiniBand with ibacm(8); without one this changes nothing, as in rstream -T r. Before connecting.
     *
     * @param info an active answer
     * @return this socket
     * @throws RdmaException EINVAL if the route is not one of the address
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
                                ? "Sizes are set before the socket connects or listens, and are positive."
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

    private static String text(InetSocketAddress address) {
        String host = address.isUnresolved()
                ? address.getHostString()
                : address.getAddress().getHostAddress();
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + address.getPort();
    }

    /** One method's deadline. */
    private final class Wait {
        private final long begin = System.nanoTime();
        private final long nanos;
        private boolean ready;

        Wait(Duration timeout) {
            this.nanos = timeout.isNegative() ? 0 : saturated(timeout);
        }

        private static long saturated(Duration timeout) {
            return timeout.compareTo(Duration.ofDays(1)) > 0
                    ? Duration.ofDays(1).toNanos()
                    : timeout.toNanos();
        }

        boolean ready() {
            return ready;
        }

        /**
         * Waits for an event at most until the deadline, and at most one slice.
         *
         * @return false if the deadline has passed
         */
        boolean slice(int events) {
            if (Thread.currentThread().isInterrupted()) {
                throw new RdmaException(Cause.INTERRUPTED, "interrupted while waiting on " + describe());
            }
            long left = nanos - (System.nanoTime() - begin);
            if (left <= 0) {
                return false;
            }
            Alarm alarm = events == rdma_h.POLLOUT() ? sending : receiving;
            MemorySegment polls = POLL_FDS.get();
            fill(polls, 0, fd, events);
            fill(polls, 1, alarm.fd(), rdma_h.POLLIN());
            int result;
            begin();
            try {
                alarm.set(Math.clamp((left + 999_999) / 1_000_000, 1, SLICE_MILLIS));
                result = RCalls.pollUntilReady(polls, 2);
            } finally {
                exit();
            }
            if (result < 0) {
                if (Native.errno() != rdma_h.EINTR()) {
                    throw Native.failure("rpoll", describe());
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
     * Closes the connection in both directions and frees the socket, rclose. That waits until the peer's device has
     * acknowledged what was sent, or the transport has given it up, but not for the peer to read it; and not longer than
     * {@value #CLOSING_SECONDS} s: it is interrupted then, and frees the socket all the same.
     *
     * <p>With soft-RoCE it can take a minute when the peer sends while the connection ends: the kernel then waits 50 s for the
     * last user of the socket's memory (0.2 s before 2025). That is logged as a warning; the connection has ended before, and
     * nothing is lost by it.
     *
     * <p>Besides a peer that is gone, a device that loses a completion event lets rclose wait for ever: it waits for that
     * event alone.
     *
     * @throws RdmaTimeoutException if rclose had to be interrupted: the socket is closed, but what the peer's device has not
     *     acknowledged may be lost. If rclose has not returned even so, the socket stays in the ledger until it does, and
     *     is then released without being asked again; until then it can't be used
     */
    @Override
    protected void release() {
        DetachedCall call = closing;
        if (call == null) {
            call = DetachedCall.start("rclose " + fd, () -> RCalls.close(fd), COMPLETION_EVENT, this::closeAfterAll);
            closing = call;
        }
        DetachedCall waiting = call;
        String named = "rclose(" + describe() + ")";
        long begin = System.nanoTime();
        DetachedCall.Outcome outcome = call.await(CLOSING, INTERRUPTING, RSocket::patience)
                .orElseThrow(() -> neverReturned(named, Duration.ofNanos(System.nanoTime() - begin), waiting));
        if (outcome.awaitedIn() != null) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    "{0} took {1} s, because soft-RoCE waited for the last user of the socket''s memory (in the kernel in"
                            + " {2}): a packet of the peer''s was being worked on when the queue pair went to the error state",
                    named,
                    Duration.ofNanos(System.nanoTime() - begin).toSeconds(),
                    outcome.awaitedIn());
        }
        if (outcome.result() != 0) {
            closing = null;
            throw new RdmaException("rclose", describe(), outcome.errno());
        }
        cutShortIn = outcome.interruptedIn();
        ServiceTable.give();
        sending.close();
        receiving.close();
    }

    @Override
    protected void released() {
        if (cutShortIn != null) {
            throw cutShort("rclose(" + describe() + ")", cutShortIn);
        }
    }

    private static RdmaTimeoutException cutShort(String call, String interruptedIn) {
        return new RdmaTimeoutException(
                "end of " + call,
                CLOSING,
                "the peer's device acknowledged nothing and the transport had not given it up, or this device lost a"
                        + " completion event; the call was interrupted (it waited in the kernel in " + interruptedIn
                        + "), and what was not acknowledged may be lost");
    }

    private static Duration patience(String place) {
        return place.contains(LAST_USER) ? LAST_USER_LIMIT : Duration.ZERO;
    }

    private static RdmaTimeoutException neverReturned(String call, Duration waited, DetachedCall waiting) {
        return new RdmaTimeoutException("end of " + call, waited, "it waits in the kernel in " + waiting.waitsIn());
    }

    /** Ends what a {@link #close} gave up waiting for; that one may still be on its way out. */
    private void closeAfterAll() {
        for (int turn = 0; !isClosed() && turn < 1000; turn++) {
            try {
                close();
            } catch (RdmaTimeoutException e) {
                // The one that gave up was told.
            }
            LockSupport.parkNanos(1_000_000);
        }
    }

    @Override
    public String describe() {
        return shown;
    }
}
