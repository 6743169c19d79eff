package io.rdmatest.cm;

import io.rdmatest.Cause;
import io.rdmatest.Deadline;
import io.rdmatest.NativeResource;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.ffi.ibv_ece;
import io.rdmatest.ffi.ibv_qp_attr;
import io.rdmatest.ffi.ibv_qp_init_attr_ex;
import io.rdmatest.ffi.rdma_addr;
import io.rdmatest.ffi.rdma_cm_id;
import io.rdmatest.ffi.rdma_cm_join_mc_attr_ex;
import io.rdmatest.ffi.rdma_conn_param;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.ffi.rdma_ib_addr;
import io.rdmatest.ffi.rdma_route;
import io.rdmatest.ffi.sockaddr_storage;
import io.rdmatest.internal.Errno;
import io.rdmatest.internal.PathRecordLayout;
import io.rdmatest.internal.linux.PortInUse;
import io.rdmatest.internal.linux.SocketAddresses;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.Ece;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.LinkLayer;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpState;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.QueuePairModification;
import io.rdmatest.verbs.Transport;
import io.rdmatest.verbs.VerbsBridge;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A communication identifier: the RDMA counterpart of a socket (struct rdma_cm_id, rdma_create_id(3)).
 *
 * <p>The active side resolves the address, then the route, creates a queue pair, connects and waits for ESTABLISHED.
 * The passive side binds, listens, waits for CONNECT_REQUEST, creates a queue pair on the new id, accepts, and waits
 * for ESTABLISHED on it. A method without a timeout starts an operation and returns; an event reports the result. A
 * method with a timeout waits for the event.
 *
 * <p>A step that is taken too early or twice throws an {@link IllegalStateException} or an {@link RdmaException} with
 * EINVAL. Close the queue pair and the multicast memberships before the id. Close all objects built on {@link
 * #context()} before the last id on the device.
 *
 * <p>Thread-safe.
 */
public final class CmId extends NativeResource {

    private static final AtomicLong NUMBERS = new AtomicLong();
    private static final AtomicLong TOKENS = new AtomicLong();

    /** Both addresses. The text is built only on demand, which is rare. */
    private record Addresses(
            @Nullable InetSocketAddress local, @Nullable InetSocketAddress remote) {

        static final Addresses UNKNOWN = new Addresses(null, null);

        String text() {
            return (local == null ? "" : " " + SocketAddresses.text(local))
                    + (remote == null || remote.getPort() == 0 ? "" : " -> " + SocketAddresses.text(remote));
        }
    }

    private final long number;
    private final MemorySegment id;
    private final PortSpace portSpace;
    /** Changes with the locks of both channels held. */
    private volatile EventChannel channel;
    /** The address of the ibv_context, 0 before the id is bound to a device; changes with the channel's lock held. */
    private volatile long device;

    /** The addresses for {@link #describe}, which also works after the native id is destroyed. */
    private volatile Addresses addresses;
    /** Guarded by the channel's lock. */
    private @Nullable QueuePair queuePair;
    /** The groups joined or being joined; guarded by the channel's lock. */
    private final Set<ByteBuffer> groups;

    /** The caller holds the channel's lock. */
    CmId(EventChannel channel, MemorySegment address, PortSpace portSpace) {
        this.number = NUMBERS.incrementAndGet();
        this.channel = channel;
        this.id = address.reinterpret(rdma_cm_id.sizeof());
        this.portSpace = portSpace;
        this.addresses = Addresses.UNKNOWN;
        this.groups = new HashSet<>();
        super("cm-id", channel);
        refresh();
    }

    // ---- properties ----

    /** Returns the port space. */
    public PortSpace portSpace() {
        return portSpace;
    }

    /** Returns the channel that the id's events arrive at. */
    public EventChannel channel() {
        return channel;
    }

    /** Returns whether the id is bound to a device: by binding to one of its addresses, or by resolving an address. */
    public boolean hasDevice() {
        return device != 0;
    }

    /**
     * Returns the device that the id is bound to.
     *
     * <p>The context belongs to librdmacm and is shared by all ids on the device. Queue pairs of rdma_cm need a
     * protection domain of this context. Close everything that is built on it before the last id on the device.
     *
     * @throws IllegalStateException if the id is not bound to a device yet
     */
    public DeviceContext context() {
        return locked(() -> CmContexts.context(requireDevice("its device"), rdma_cm_id.verbs(id)));
    }

    /**
     * Returns the device's port, from 1.
     *
     * @throws IllegalStateException if the id is not bound to a device yet
     */
    public int port() {
        return locked(() -> {
            long ignored = requireDevice("its port");
            return Byte.toUnsignedInt(rdma_cm_id.port_num(id));
        });
    }

    /** Returns the queue pair of {@link #createQueuePair}; empty if there is none or it is closed. */
    public Optional<QueuePair> queuePair() {
        return locked(() -> Optional.ofNullable(queuePair));
    }

    /**
     * Returns the local address.
     *
     * @throws IllegalStateException if the id has no such IP address yet
     */
    public InetSocketAddress localAddress() {
        return locked(() -> required(SocketAddresses.decode(rdma_addr.src_storage(address())), "local"));
    }

    /**
     * Returns the remote address.
     *
     * @throws IllegalStateException if the id has no such IP address yet
     */
    public InetSocketAddress remoteAddress() {
        return locked(() -> required(SocketAddresses.decode(rdma_addr.dst_storage(address())), "remote"));
    }

    /** Returns the local port number (rdma_get_src_port(3)); 0 before the id is bound. */
    public int localPort() {
        return locked(() -> port(rdma_addr.src_storage(address())));
    }

    /** Returns the remote port number (rdma_get_dst_port(3)); 0 before the address is resolved. */
    public int remotePort() {
        return locked(() -> port(rdma_addr.dst_storage(address())));
    }

    /**
     * Returns the local GID.
     *
     * @throws IllegalStateException if the id is not bound to a device yet
     */
    public Gid localGid() {
        return locked(() -> {
            long ignored = requireDevice("its GID");
            return Gid.of(rdma_ib_addr.sgid(infiniband()).asSlice(0, Gid.LENGTH).toArray(ValueLayout.JAVA_BYTE));
        });
    }

    /**
     * Returns the remote GID; zero before the address is resolved.
     *
     * @throws IllegalStateException if the id is not bound to a device yet
     */
    public Gid remoteGid() {
        return locked(() -> {
            long ignored = requireDevice("its GID");
            return Gid.of(rdma_ib_addr.dgid(infiniband()).asSlice(0, Gid.LENGTH).toArray(ValueLayout.JAVA_BYTE));
        });
    }

    /**
     * Returns the paths of the resolved route, the primary one first (rdma_cm_id.route). On the passive side they are the paths
     * of the request.
     *
     * @return the paths; empty before the route is resolved, and on iWARP devices
     */
    public List<PathRecord> paths() {
        return locked(() -> {
            MemorySegment route = rdma_cm_id.route(id);
            int count = rdma_route.num_paths(route);
            MemorySegment records = rdma_route.path_rec(route);
            if (count <= 0 || records.address() == 0) {
                return List.of();
            }
            boolean hasLids = context().port(port()).linkLayer() != LinkLayer.ETHERNET;
            long size = PathRecordLayout.LAYOUT.byteSize();
            MemorySegment all = records.reinterpret(count * size);
            List<PathRecord> paths = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                paths.add(PathRecord.read(all.asSlice(i * size, size), hasLids));
            }
            return List.copyOf(paths);
        });
    }

    // ---- addresses ----

    /**
     * Binds the id to a local address (rdma_bind_addr(3)).
     *
     * @param address with port 0 the kernel chooses one; a wildcard address binds to no device yet
     * @throws RdmaException EADDRNOTAVAIL or ENODEV if no RDMA device of this host has the address, EADDRINUSE if the
     *     port is in use, EINVAL if the id is already bound
     */
    public void bind(InetSocketAddress address) {
        withArena(arena -> bind(SocketAddresses.encode(address, arena), () -> SocketAddresses.text(address)));
    }

    /**
     * Binds the id to a native InfiniBand address (rdma_bind_addr(3)).
     *
     * @param address a GID of a port of this host
     * @throws RdmaException ENODEV if no InfiniBand port has this GID; {@link RdmaException#isUnsupported()} if this host
     *     has no InfiniBand port at all: RoCE and iWARP devices are addressed by IP
     */
    public void bind(IbAddress address) {
        withArena(arena -> bind(address.encode(arena), address::toString));
    }

    /**
     * Binds the id to the local address of a look-up (rdma_bind_addr(3)).
     *
     * @param info a passive result, or one with a source
     * @throws IllegalArgumentException if it has no local address
     * @throws RdmaException as in {@link #bind(InetSocketAddress)} and {@link #bind(IbAddress)}
     */
    public void bind(AddressInfo info) {
        withArena(arena -> bind(sockaddr(arena, info.sourceSockaddr(), "local", info), info::toString));
    }

    private void bind(MemorySegment sockaddr, Supplier<String> operands) {
        try {
            Rdmacm.bind(id, sockaddr, operands);
            refresh();
        } catch (RdmaException e) {
            RdmaException told = PortInUse.explain(e, SocketAddresses.decode(sockaddr), operands.get());
            throw LinkLayers.explain(told, this, SocketAddresses.isInfiniband(sockaddr), e.errno());
        }
    }

    private static MemorySegment sockaddr(Arena arena, byte[] bytes, String which, AddressInfo info) {
        if (bytes.length == 0) {
            throw new IllegalArgumentException("there is no " + which + " address in '" + info + "'");
        }
        MemorySegment storage = sockaddr_storage.allocate(arena);
        MemorySegment.copy(bytes, 0, storage, ValueLayout.JAVA_BYTE, 0, bytes.length);
        return storage;
    }

    /**
     * Listens for requests (rdma_listen(3)).
     *
     * @param backlog how many requests may wait, at least 0; with 0 the kernel chooses
     * @throws RdmaException EINVAL if the id is not bound, or is already listening; EADDRINUSE if the port is in use
     */
    public void listen(int backlog) {
        if (backlog < 0) {
            throw new IllegalArgumentException("backlog can't be negative: " + backlog);
        }
        locked(() -> {
            Rdmacm.listen(id, backlog, () -> describe() + ", backlog " + backlog);
            refresh();
            return true;
        });
    }

    /**
     * Resolves a target to a device and GIDs, and waits for ADDR_RESOLVED (rdma_resolve_addr(3)).
     *
     * @param source the local address; null lets the kernel choose it by the route. For a fixed local port call {@link
     *     #bind(InetSocketAddress)} first and pass null
     * @param target the peer, or a multicast address
     * @param timeout the longest wait
     * @throws RdmaTimeoutException if the target does not answer (ARP, neighbour discovery)
     * @throws RdmaException ENETUNREACH or EHOSTUNREACH without a route, ENODEV if the route's interface has no RDMA
     *     device, EADDRNOTAVAIL if the source is not an address of this host
     * @throws UnexpectedCmEventException ADDR_ERROR with the same causes
     */
    public void resolveAddress(@Nullable InetAddress source, InetSocketAddress target, Duration timeout) {
        resolve(
                arena -> source == null
                        ? MemorySegment.NULL
                        : SocketAddresses.encode(new InetSocketAddress(source, 0), arena),
                arena -> SocketAddresses.encode(target, arena),
                (source == null ? "" : "from " + source.getHostAddress() + " ") + "to " + SocketAddresses.text(target),
                SocketAddresses.text(target),
                timeout);
    }

    /**
     * Resolves a native InfiniBand address to a device, and waits for ADDR_RESOLVED (rdma_resolve_addr(3)).
     *
     * @param source the local address; null lets the library choose it
     * @param target the peer
     * @param timeout the longest wait
     * @throws RdmaException ENODEV if no InfiniBand port reaches the address; {@link RdmaException#isUnsupported()} if
     *     the device's port is not an InfiniBand port: the kernel resolves the address then, but never a route
     * @throws UnexpectedCmEventException ADDR_ERROR with the same causes
     */
    public void resolveAddress(@Nullable IbAddress source, IbAddress target, Duration timeout) {
        resolve(
                arena -> source == null ? MemorySegment.NULL : source.encode(arena),
                target::encode,
                "to " + target,
                target.toString(),
                timeout);
    }

    /**
     * Resolves the peer's address of a look-up, and waits for ADDR_RESOLVED (rdma_resolve_addr(3)).
     *
     * @param info an active result
     * @param timeout the longest wait
     * @throws IllegalArgumentException if it has no peer address
     * @throws RdmaException as in the other methods of this name
     * @throws UnexpectedCmEventException ADDR_ERROR with the same causes
     */
    public void resolveAddress(AddressInfo info, Duration timeout) {
        byte[] source = info.sourceSockaddr();
        resolve(
                arena -> source.length == 0 ? MemorySegment.NULL : sockaddr(arena, source, "local", info),
                arena -> sockaddr(arena, info.destinationSockaddr(), "peer's", info),
                info.toString(),
                info.toString(),
                timeout);
    }

    /**
     * Starts to resolve the peer's address of a look-up (rdma_resolve_addr(3)), for callers that connect many ids at
     * once. ADDR_RESOLVED follows, or ADDR_ERROR.
     *
     * @param info an active result; for a native address the caller checks the link layer of the resolved device,
     *     because the kernel finds a route only from an InfiniBand port
     * @param timeout the time after which the kernel reports ADDR_ERROR and ETIMEDOUT
     * @throws IllegalArgumentException if the result has no peer address
     * @throws RdmaException as in the methods that wait; EADDRNOTAVAIL also if all ephemeral ports of the port space
     *     are in use
     */
    public void startResolveAddress(AddressInfo info, Duration timeout) {
        int millis = millis(timeout);
        byte[] source = info.sourceSockaddr();
        withArena(arena -> {
            try {
                Rdmacm.resolveAddress(
                        id,
                        source.length == 0 ? MemorySegment.NULL : sockaddr(arena, source, "local", info),
                        sockaddr(arena, info.destinationSockaddr(), "peer's", info),
                        millis,
                        info::toString);
            } catch (RdmaException e) {
                throw LinkLayers.explain(e, this, info.isNative(), e.errno());
            }
        });
    }

    /**
     * Starts to resolve the route to the resolved address (rdma_resolve_route(3)). ROUTE_RESOLVED follows, or
     * ROUTE_ERROR.
     *
     * <p>If ibacm(8) runs, librdmacm asks it before the kernel, also on RoCE, and waits for its answer. An ibacm that
     * hangs blocks this call and all other ids of the channel.
     *
     * @param timeout the time after which the kernel reports ROUTE_ERROR and ETIMEDOUT, not counting the time of ibacm
     * @throws IllegalStateException if the address is not resolved yet
     */
    public void startResolveRoute(Duration timeout) {
        int millis = millis(timeout);
        locked(() -> {
            long ignored = requireDevice("resolveRoute");
            Rdmacm.resolveRoute(id, millis, this::describe);
            return true;
        });
    }

    private void resolve(Encoding source, Encoding target, String operands, String name, Duration timeout) {
        int millis = millis(timeout);
        discard(CmEvent.Type.ADDR_RESOLVED, CmEvent.Type.ADDR_ERROR);
        boolean[] infiniband = new boolean[1];
        withArena(arena -> {
            MemorySegment to = target.encode(arena);
            infiniband[0] = SocketAddresses.isInfiniband(to);
            try {
                Rdmacm.resolveAddress(id, source.encode(arena), to, millis, () -> operands);
            } catch (RdmaException e) {
                throw LinkLayers.explain(e, this, infiniband[0], e.errno());
            }
        });
        try {
            finish(CmEvent.Type.ADDR_RESOLVED, CmEvent.Type.ADDR_ERROR, name, timeout);
        } catch (UnexpectedCmEventException e) {
            throw LinkLayers.explain(e, this, infiniband[0], -e.status());
        }
        if (infiniband[0] && context().port(port()).linkLayer() != LinkLayer.INFINIBAND) {
            throw LinkLayers.nativeAddressing(null, operands);
        }
    }

    /**
     * Resolves the route to the resolved address, and waits for ROUTE_RESOLVED (rdma_resolve_route(3)). For ibacm(8)
     * see {@link #startResolveRoute}.
     *
     * @param timeout the longest wait after ibacm has answered
     * @throws IllegalStateException if the address is not resolved yet
     * @throws RdmaTimeoutException if the subnet administrator does not answer
     * @throws UnexpectedCmEventException ROUTE_ERROR if there is no path
     */
    public void resolveRoute(Duration timeout) {
        discard(CmEvent.Type.ROUTE_RESOLVED, CmEvent.Type.ROUTE_ERROR);
        startResolveRoute(timeout);
        finish(CmEvent.Type.ROUTE_RESOLVED, CmEvent.Type.ROUTE_ERROR, "route of " + describe(), timeout);
    }

    private void finish(CmEvent.Type wanted, CmEvent.Type error, String target, Duration timeout) {
        CmEvent event = channel.awaitMatching(
                this,
                mine().and(raw -> raw.number() == wanted.number()
                        || raw.number() == error.number()
                        || raw.number() == CmEvent.Type.DEVICE_REMOVAL.number()),
                wanted.silence(),
                wanted.cName() + " for " + target,
                timeout);
        if (event.type() == error && event.status() == -rdma_h.ETIMEDOUT()) {
            throw RdmaTimeoutException.reported(
                    wanted.silence(),
                    wanted.cName() + " for " + target + " on " + describe(),
                    timeout,
                    "the kernel gave up: " + event.statusText());
        }
        CmEvent ignored = event.require(wanted);
    }

    /** Drops events of an earlier attempt, so that they do not count as results of the next one. */
    private void discard(CmEvent.Type... types) {
        for (CmEvent.Type type : types) {
            Predicate<RawEvent> stale = mine().and(raw -> raw.number() == type.number());
            while (requireOpen().pollMatching(stale) != null) {
                // until none is left
            }
        }
    }

    // ---- queue pairs ----

    /**
     * Creates the id's queue pair. The library changes its states from now on (rdma_create_qp(3), rdma_create_qp_ex).
     *
     * <p>A connected queue pair is in INIT afterwards, so that receives can be posted before the connection is
     * established. A datagram queue pair is in RTS.
     *
     * @param protectionDomain one of {@link #context()}
     * @param attributes type RC for TCP, UD for UDP and IPOIB
     * @throws IllegalStateException if the id is not bound to a device yet or already has a queue pair
     * @throws IllegalArgumentException if the protection domain belongs to another context, or the type does not fit
     * @throws RdmaException ENOMEM or EINVAL if the device can't create such a queue pair; {@link RdmaException#isUnsupported()}
     *     if it does not support a flag of the attributes. If the port is not a member of the address's partition, the message
     *     lists the port's partitions
     */
    public QueuePair createQueuePair(ProtectionDomain protectionDomain, QueuePairAttributes attributes) {
        return locked(() -> {
            long context = requireDevice("createQueuePair");
            if (queuePair != null) {
                throw new IllegalStateException(describe() + " already has a queue pair: " + queuePair.describe());
            }
            boolean datagram = attributes.type() == QpType.UD;
            if (portSpace != PortSpace.IB && datagram != portSpace.isDatagram()) {
                throw new IllegalArgumentException(
                        "an id of port space " + portSpace + " can't have a queue pair of type " + attributes.type());
            }
            try (Arena arena = Arena.ofConfined()) {
                VerbsBridge bridge = Rdmacm.VERBS;
                if (bridge.pointer(protectionDomain.context()).address() != context) {
                    throw new IllegalArgumentException(protectionDomain.describe()
                            + " belongs to another context than " + describe()
                            + ": allocate it from the id's context()");
                }
                MemorySegment initial = ibv_qp_init_attr_ex.allocate(arena);
                bridge.write(initial, protectionDomain, attributes);
                queuePair = bridge.createQueuePair(
                        protectionDomain,
                        attributes,
                        () -> {
                            try {
                                Rdmacm.createQp(id, initial, () -> describe() + ", " + attributes);
                            } catch (RdmaException e) {
                                requirePartition(e);
                                throw e;
                            }
                            return rdma_cm_id.qp(id);
                        },
                        this::destroyQueuePair,
                        ibv_qp_init_attr_ex.cap(initial),
                        this);
                return queuePair;
            }
        });
    }

    /** Explains EINVAL if the port is not a member of the address's partition. The kernel reports EINVAL for much else, too. */
    private void requirePartition(RdmaException failure) {
        int pkey = Short.toUnsignedInt(Short.reverseBytes(rdma_ib_addr.pkey(infiniband())));
        if (failure.errno() != rdma_h.EINVAL() || pkey == 0) {
            return;
        }
        try {
            int ignored = context().pkeyIndex(port(), pkey);
        } catch (RdmaException e) {
            if (e.errno() != 0) {
                // The table could not be read, so it is unknown whether it has the partition.
                failure.addSuppressed(e);
                return;
            }
            RdmaException missing = new RdmaException(
                    Cause.HOST_NOT_READY,
                    describe() + " can't have a queue pair: " + e.getMessage(),
                    failure.call(),
                    failure.errno());
            missing.initCause(failure);
            throw missing;
        }
    }

    /** Does the same as rdma_destroy_qp, but reports a failure. */
    private void destroyQueuePair() {
        boolean done = lockedEvenInClosing(() -> {
            Rdmacm.destroyQp(rdma_cm_id.qp(id), () -> "of " + describe());
            rdma_cm_id.qp(id, MemorySegment.NULL);
            queuePair = null;
            return true;
        });
    }

    /**
     * Returns the attributes that an external queue pair needs to reach a state with this connection
     * (rdma_init_qp_attr(3), rdma-core 23).
     *
     * @param state INIT after the address is resolved or the request arrived; RTR and RTS after CONNECT_REQUEST or
     *     CONNECT_RESPONSE
     * @throws IllegalStateException if the id is not bound to a device yet, or the attributes are not known yet
     * @throws RdmaException EINVAL if the connection's state has no such attributes
     */
    public QueuePairModification initQueuePairAttributes(QpState state) {
        if (state == QpState.UNKNOWN) {
            throw new IllegalArgumentException("UNKNOWN is not a state of a queue pair");
        }
        return locked(() -> {
            long ignored = requireDevice("initQueuePairAttributes");
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment attributes = ibv_qp_attr.allocate(arena);
                ibv_qp_attr.qp_state(attributes, state.ordinal());
                MemorySegment mask = arena.allocate(ValueLayout.JAVA_INT);
                try {
                    Rdmacm.initQpAttributes(id, attributes, mask, () -> describe() + ", " + state);
                } catch (RdmaException e) {
                    requirePartition(e);
                    throw e;
                }
                int filled = mask.get(ValueLayout.JAVA_INT, 0);
                requireComplete(state, filled);
                return Rdmacm.VERBS.modification(attributes, filled);
            }
        });
    }

    /**
     * Returns whether the kernel brings queue pairs to RTS itself, including external ones. It does so on iWARP. Then
     * {@link #connect(ConnectionParameters)} leads to ESTABLISHED, and {@link #establish} is not needed.
     *
     * @throws IllegalStateException if the id is not bound to a device yet
     */
    public boolean isConnectedByKernel() {
        return context().transport() == Transport.IWARP;
    }

    /** Checks the attributes: before the peer's answer the kernel returns those of INIT for every state, and reports success. */
    private void requireComplete(QpState state, int mask) {
        int needed = switch (state) {
            case RTR -> rdma_h.IBV_QP_AV();
            case RTS -> rdma_h.IBV_QP_SQ_PSN();
            default -> 0;
        };
        if (!portSpace.isDatagram()
                && (mask & needed) != needed
                // On iWARP the kernel never returns them.
                && !isConnectedByKernel()) {
            throw new IllegalStateException("the attributes of state " + state + " for " + describe()
                    + " are not known before CONNECT_REQUEST or CONNECT_RESPONSE");
        }
    }

    // ---- connections ----

    /**
     * Starts to connect (rdma_connect(3)). ESTABLISHED follows, or CONNECT_RESPONSE on an id without its own queue
     * pair, or REJECTED, UNREACHABLE, CONNECT_ERROR. In the UDP port space this resolves the service id to a queue
     * pair, and ESTABLISHED has {@link CmEvent#ud()}.
     *
     * @param parameters private data of at most 56 bytes (TCP) or 180 (UDP); 36 more with native InfiniBand addresses
     * @throws IllegalStateException if the address is not resolved yet, or the id has no queue pair and the parameters
     *     have no queue pair number
     * @throws IllegalArgumentException if the private data is too long
     * @throws RdmaException EINVAL if the route is not resolved, or a depth exceeds the device's limit
     */
    public void connect(ConnectionParameters parameters) {
        withArena(arena -> {
            long ignored = requireDevice("connect");
            checkLength("a connection request", parameters.privateDataLength(), portSpace.requestLimit(isNative()));
            if (!portSpace.isDatagram()) {
                requireQueuePair("connect", parameters);
            }
            Rdmacm.connect(id, encode(arena, parameters), () -> describe() + ", " + parameters);
        });
    }

    /**
     * Connects and waits for the answer.
     *
     * @param parameters as in {@link #connect(ConnectionParameters)}
     * @param timeout the longest wait; the connection manager itself gives up after about a minute
     * @return ESTABLISHED, or CONNECT_RESPONSE for a connected id without its own queue pair, except on iWARP
     * @throws RdmaTimeoutException if no answer arrives in time
     * @throws UnexpectedCmEventException REJECTED, UNREACHABLE or CONNECT_ERROR
     */
    public CmEvent connect(ConnectionParameters parameters, Duration timeout) {
        boolean external = !portSpace.isDatagram() && queuePair().isEmpty();
        connect(parameters);
        return expectEvent(
                external && !isConnectedByKernel() ? CmEvent.Type.CONNECT_RESPONSE : CmEvent.Type.ESTABLISHED, timeout);
    }

    /**
     * Accepts the connection request of this id (rdma_accept(3)). ESTABLISHED follows in a connected port space, no
     * event in a datagram one.
     *
     * @param parameters private data of at most 196 bytes (TCP) or 136 (UDP)
     * @throws IllegalStateException if the id has no request, or there is neither a queue pair nor a queue pair number
     * @throws IllegalArgumentException if the private data is too long
     * @throws RdmaException EINVAL if the request is already answered or withdrawn
     */
    public void accept(ConnectionParameters parameters) {
        withArena(arena -> {
            long ignored = requireDevice("accept");
            checkLength("an acceptance", parameters.privateDataLength(), portSpace.replyLimit());
            requireQueuePair("accept", parameters);
            Rdmacm.accept(id, encode(arena, parameters), () -> describe() + ", " + parameters);
        });
    }

    /**
     * Rejects the connection request of this id (rdma_reject(3)). The peer gets REJECTED, or UNREACHABLE in the UDP
     * port space.
     *
     * @param privateData at most 148 bytes (TCP) or 136 (UDP); may be empty
     * @throws IllegalArgumentException if the private data is too long
     * @throws RdmaException EINVAL if the id has no unanswered request
     */
    public void reject(byte[] privateData) {
        withArena(arena -> {
            checkLength("a rejection", privateData.length, portSpace.rejectLimit());
            MemorySegment data = privateData.length == 0
                    ? MemorySegment.NULL
                    : arena.allocateFrom(ValueLayout.JAVA_BYTE, privateData);
            Rdmacm.reject(id, data, privateData.length, this::describe);
        });
    }

    /**
     * Completes the connection of an external queue pair after CONNECT_RESPONSE, when it is in RTS (rdma_establish(3),
     * rdma-core 23).
     *
     * @throws IllegalStateException if the id has its own queue pair: then the library does this itself
     * @throws RdmaException EINVAL if there was no response
     */
    public void establish() {
        locked(() -> {
            long ignored = requireDevice("establish");
            if (queuePair != null) {
                throw new IllegalStateException(
                        describe() + " has its own queue pair: the library establishes the connection");
            }
            Rdmacm.establish(id, this::describe);
            return true;
        });
    }

    /**
     * Ends the connection (rdma_disconnect(3)). The id's own queue pair goes to ERR and outstanding work is flushed.
     * The peer gets DISCONNECTED. This side gets it when the peer answers, and TIMEWAIT_EXIT later.
     *
     * @throws IllegalStateException if the id is not bound to a device
     * @throws RdmaException EINVAL if it is not connected
     */
    public void disconnect() {
        locked(() -> {
            long ignored = requireDevice("disconnect");
            if (queuePair != null) {
                Rdmacm.VERBS.intendError(queuePair);
            }
            Rdmacm.disconnect(id, this::describe);
            return true;
        });
    }

    // ---- events ----

    /**
     * Waits for the next event of this id. Events of other ids stay in the channel. Connection requests are events of
     * the listening id.
     *
     * @param timeout the longest wait
     * @throws RdmaTimeoutException if none arrives in time
     * @throws IllegalStateException if the id is closed, also by another thread during the wait
     */
    public CmEvent awaitEvent(Duration timeout) {
        return channel.awaitMatching(this, mine(), Cause.TIMEOUT, "connection manager event", timeout);
    }

    /** Returns the next event of this id, or empty if there is none now. */
    public Optional<CmEvent> pollEvent() {
        return Optional.ofNullable(requireOpen().pollMatching(mine()));
    }

    /**
     * Waits for the next event of this id and requires it to be of a type.
     *
     * @param wanted the type
     * @param timeout the longest wait
     * @throws UnexpectedCmEventException if the id's next event is of another type; it is then consumed
     * @throws RdmaTimeoutException if none arrives in time
     */
    public CmEvent expectEvent(CmEvent.Type wanted, Duration timeout) {
        return channel.awaitMatching(this, mine(), wanted.silence(), wanted.cName(), timeout)
                .require(wanted);
    }

    private Predicate<RawEvent> mine() {
        long address = id.address();
        return raw -> raw.recipient() == address;
    }

    // ---- options ----

    /**
     * Sets the type of service of the id's packets (rdma_set_option(3), RDMA_OPTION_ID_TOS). Call it before the route
     * is resolved.
     *
     * @param typeOfService 0 to 255: the whole octet, DSCP in the upper six bits
     */
    public void setTypeOfService(int typeOfService) {
        ConnectionParameters.checkRange("typeOfService", typeOfService, 0, 255);
        setByte(rdma_h.RDMA_OPTION_ID_TOS(), typeOfService, "TOS " + typeOfService);
    }

    /**
     * Allows the local port to be shared with other ids that allow it (RDMA_OPTION_ID_REUSEADDR). Call it before
     * binding.
     *
     * @param reuse whether to allow it
     */
    public void setReuseAddress(boolean reuse) {
        setInt(rdma_h.RDMA_OPTION_ID_REUSEADDR(), reuse ? 1 : 0, "REUSEADDR " + reuse);
    }

    /**
     * Restricts a wildcard listener to its own address family (RDMA_OPTION_ID_AFONLY). Call it before binding.
     *
     * @param only whether to restrict it
     */
    public void setAfOnly(boolean only) {
        setInt(rdma_h.RDMA_OPTION_ID_AFONLY(), only ? 1 : 0, "AFONLY " + only);
    }

    /**
     * Sets how long the queue pair waits for an acknowledgement before it retransmits (RDMA_OPTION_ID_ACK_TIMEOUT).
     * Call it before the queue pair is in RTS.
     *
     * @param exponent 0 to 31: 4.096 µs · 2^exponent; 0 means an infinite timeout
     * @throws RdmaException ENOSYS or EINVAL on a kernel before 5.1 or for a datagram id
     */
    public void setAckTimeout(int exponent) {
        ConnectionParameters.checkRange("exponent", exponent, 0, 31);
        setByte(rdma_h.RDMA_OPTION_ID_ACK_TIMEOUT(), exponent, "ACK_TIMEOUT " + exponent);
    }

    /**
     * Sets the ECE options that this side offers for the connection (rdma_set_local_ece(3)). The request or the answer carries
     * them. The queue pair must be an external one.
     *
     * @param ece the result of {@link io.rdmatest.verbs.QueuePair#queryEce()} for the queue pair
     * @throws RdmaException EINVAL if the id has a queue pair of its own, or the vendor is 0
     */
    public void setLocalEce(Ece ece) {
        withArena(arena -> {
            MemorySegment struct = ibv_ece.allocate(arena);
            ibv_ece.vendor_id(struct, ece.vendorId());
            ibv_ece.options(struct, ece.options());
            Rdmacm.setLocalEce(id, struct, () -> describe() + ", " + ece);
        });
    }

    /**
     * Returns the ECE options that the peer offers in a request or in the answer to one (rdma_get_remote_ece(3)). The queue pair
     * must be an external one.
     *
     * @return what the peer offers; the vendor is 0 if it offers nothing
     * @throws RdmaException EINVAL if the id has a queue pair of its own
     */
    public Ece remoteEce() {
        return locked(() -> {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment struct = ibv_ece.allocate(arena);
                Rdmacm.getRemoteEce(id, struct, this::describe);
                return new Ece(ibv_ece.vendor_id(struct) & 0xffffff, ibv_ece.options(struct));
            }
        });
    }

    private void setByte(int option, int value, String operands) {
        withArena(arena -> Rdmacm.setOption(
                id,
                option,
                arena.allocateFrom(ValueLayout.JAVA_BYTE, (byte) value),
                () -> describe() + ", " + operands));
    }

    private void setInt(int option, int value, String operands) {
        withArena(arena -> Rdmacm.setOption(
                id, option, arena.allocateFrom(ValueLayout.JAVA_INT, value), () -> describe() + ", " + operands));
    }

    /**
     * Moves the id, with its events that were not taken yet, to another channel (rdma_migrate_id(3)).
     *
     * @param to the channel of later events
     * @throws IllegalStateException if the other channel is closed
     */
    public void migrate(EventChannel to) {
        Objects.requireNonNull(to, "to");
        enter();
        try {
            to.enterCall();
            try {
                boolean moved;
                do {
                    moved = tryMigrate(channel, to);
                } while (!moved);
            } finally {
                to.exitCall();
            }
        } finally {
            exit();
        }
    }

    private boolean tryMigrate(EventChannel from, EventChannel to) {
        // The lower number first, so that two migrations in opposite directions do not deadlock.
        ReentrantLock first = from.number() < to.number() ? from.lock() : to.lock();
        ReentrantLock second = from.number() < to.number() ? to.lock() : from.lock();
        first.lock();
        try {
            second.lock();
            try {
                if (channel != from) {
                    return false;
                }
                if (from == to) {
                    return true;
                }
                moveToParent(from, to);
                try {
                    Rdmacm.migrate(id, to.segment(), () -> describe() + ", " + to.describe());
                } catch (RuntimeException | Error e) {
                    moveToParent(to, from);
                    throw e;
                }
                from.handOver(id, this, to);
                channel = to;
                return true;
            } finally {
                second.unlock();
            }
        } finally {
            first.unlock();
        }
    }

    // ---- multicast ----

    /**
     * Joins a multicast group and waits for MULTICAST_JOIN (rdma_join_multicast_ex(3)). The library attaches the id's
     * queue pair to the group, unless the flag is send-only.
     *
     * @param group an IPv4 or IPv6 multicast address; the wildcard address lets the subnet administrator choose a group
     *     (InfiniBand only). On RoCE v2 the kernel joins only IPv4 groups; the MGID is ::ffff:a.b.c.d
     * @param flag whether to receive or only to send
     * @param timeout the longest wait
     * @throws IllegalStateException if the id is not bound to a device, or is already in this group
     * @throws RdmaException EINVAL for an id of a connected port space; send-only needs rdma-core 16; {@link
     *     RdmaException#isUnsupported()} if the link layer does not support such groups
     * @throws UnexpectedCmEventException MULTICAST_ERROR if the group can't be joined or the queue pair not attached
     * @throws RdmaTimeoutException if there is no answer in time
     */
    public MulticastMembership joinMulticast(InetAddress group, JoinFlag flag, Duration timeout) {
        if (!group.isMulticastAddress() && !group.isAnyLocalAddress()) {
            throw new IllegalArgumentException(group.getHostAddress() + " is not a multicast address");
        }
        if (group.isAnyLocalAddress()) {
            requireChooser(group.getHostAddress());
        }
        return join(
                group.getHostAddress(),
                arena -> SocketAddresses.encode(new InetSocketAddress(group, 0), arena),
                flag,
                timeout);
    }

    /**
     * Joins a multicast group by its MGID and waits for MULTICAST_JOIN (rdma_join_multicast_ex(3)).
     *
     * @param mgid the group, used unchanged; all zero lets the subnet administrator choose one (InfiniBand only). RoCE v2
     *     joins only ::ffff:a.b.c.d
     * @param flag whether to receive or only to send
     * @param timeout the longest wait
     * @throws IllegalStateException if the id is not bound to a device, or is already in this group
     * @throws UnexpectedCmEventException MULTICAST_ERROR if the group can't be joined or the queue pair not attached
     * @throws RdmaTimeoutException if there is no answer in time
     */
    public MulticastMembership joinMulticast(Gid mgid, JoinFlag flag, Duration timeout) {
        boolean roce = isEthernet();
        if (mgid.isZero()) {
            requireChooser(mgid.toString());
        }
        Encoding encoding;
        if (!roce) {
            encoding = arena -> IbAddress.of(mgid).encode(arena);
        } else if (mgid.isIpv4Mapped()) {
            encoding = arena -> SocketAddresses.encode(new InetSocketAddress(mgid.toInetAddress(), 0), arena);
        } else {
            // The kernel supports native addresses on InfiniBand only. On RoCE it uses an IPv6 address unchanged as the
            // MGID.
            encoding = arena -> SocketAddresses.encodeIp6(mgid.bytes(), arena);
        }
        return join(mgid.toString(), encoding, flag, timeout);
    }

    private boolean isEthernet() {
        return context().port(port()).linkLayer() == LinkLayer.ETHERNET;
    }

    /** Rejects an all-zero group on Ethernet: only InfiniBand has a subnet administrator that chooses one. */
    private void requireChooser(String group) {
        if (isEthernet()) {
            throw new RdmaException(
                    "rdma_join_multicast_ex",
                    describe() + ", group " + group,
                    rdma_h.EOPNOTSUPP(),
                    "Only the subnet administrator of an InfiniBand fabric chooses a group: on Ethernet name one, for example"
                            + " 239.1.2.3.");
        }
    }

    private interface Encoding {
        MemorySegment encode(Arena arena);
    }

    private MulticastMembership join(String name, Encoding group, JoinFlag flag, Duration timeout) {
        Objects.requireNonNull(flag, "flag");
        ByteBuffer key = key(group);
        long ignored = Deadline.nanos(timeout);
        long token = TOKENS.incrementAndGet();
        withArena(arena -> {
            long ignoredDevice = requireDevice("joinMulticast");
            if (!groups.add(key)) {
                throw new IllegalStateException(describe() + " is already in group " + name);
            }
            try {
                startJoin(arena, group.encode(arena), flag, token, name);
            } catch (RuntimeException | Error e) {
                boolean known = groups.remove(key);
                throw e;
            }
        });
        try {
            CmEvent event = channel.awaitMatching(
                    this,
                    mine().and(raw -> raw.token() == token || raw.number() == CmEvent.Type.DEVICE_REMOVAL.number()),
                    CmEvent.Type.MULTICAST_JOIN.silence(),
                    CmEvent.Type.MULTICAST_JOIN.cName() + " for " + name,
                    timeout);
            UdParameters ud = event.require(CmEvent.Type.MULTICAST_JOIN).ud();
            return locked(() -> new MulticastMembership(
                    this,
                    flag == JoinFlag.FULL_MEMBER ? queuePair : null,
                    name,
                    flag,
                    Objects.requireNonNull(ud),
                    () -> leave(key, group, name)));
        } catch (RuntimeException | Error e) {
            if (!isClosed()) {
                try {
                    leave(key, group, name);
                } catch (RuntimeException second) {
                    e.addSuppressed(second);
                }
            }
            throw e;
        }
    }

    /** Returns the key of a group: its address, by which librdmacm finds the group to leave. */
    private static ByteBuffer key(Encoding group) {
        try (Arena arena = Arena.ofConfined()) {
            return ByteBuffer.wrap(group.encode(arena).toArray(ValueLayout.JAVA_BYTE));
        }
    }

    private void startJoin(Arena arena, MemorySegment address, JoinFlag flag, long token, String name) {
        MemorySegment context = MemorySegment.ofAddress(token);
        Supplier<String> operands = () -> describe() + ", group " + name + ", " + flag;
        if (flag == JoinFlag.FULL_MEMBER && !Rdmacm.hasJoinEx()) {
            Rdmacm.join(id, address, context, operands);
            return;
        }
        MemorySegment attributes = rdma_cm_join_mc_attr_ex.allocate(arena);
        rdma_cm_join_mc_attr_ex.comp_mask(
                attributes, rdma_h.RDMA_CM_JOIN_MC_ATTR_ADDRESS() | rdma_h.RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS());
        rdma_cm_join_mc_attr_ex.join_flags(attributes, flag.value());
        rdma_cm_join_mc_attr_ex.addr(attributes, address);
        Rdmacm.joinEx(id, attributes, context, operands);
    }

    private void leave(ByteBuffer key, Encoding group, String name) {
        withArena(arena -> {
            try {
                Rdmacm.leave(id, group.encode(arena), () -> describe() + ", group " + name);
            } catch (RdmaException e) {
                // librdmacm removes the group before it calls the kernel. If the device is gone, the kernel has
                // already removed the group.
                if (!Errno.isDeviceGone(e.errno())) {
                    throw e;
                }
            }
            boolean known = groups.remove(key);
        });
    }

    // ---- internals ----

    /** Notes an event that was read. The caller holds the channel's lock. */
    void noteEvent(RawEvent raw) {
        if (raw.number() == CmEvent.Type.ADDR_RESOLVED.number()) {
            refresh();
        }
    }

    EventChannel requireOpen() {
        if (isClosed()) {
            throw new IllegalStateException(describe() + " is closed");
        }
        return channel;
    }

    /** Updates the cached state after a call. The caller holds the channel's lock. */
    private void refresh() {
        MemorySegment verbs = rdma_cm_id.verbs(id);
        if (device == 0 && verbs.address() != 0) {
            CmContexts.acquire(verbs.address());
            device = verbs.address();
        }
        addresses = new Addresses(
                SocketAddresses.decode(rdma_addr.src_storage(address())),
                SocketAddresses.decode(rdma_addr.dst_storage(address())));
    }

    private MemorySegment address() {
        return rdma_route.addr(rdma_cm_id.route(id));
    }

    private MemorySegment infiniband() {
        return rdma_addr.addr.ibaddr(rdma_addr.addr(address()));
    }

    private boolean isNative() {
        return SocketAddresses.isInfiniband(rdma_addr.src_storage(address()));
    }

    private static int port(MemorySegment storage) {
        InetSocketAddress address = SocketAddresses.decode(storage);
        return address != null ? address.getPort() : IbAddress.port(storage);
    }

    private InetSocketAddress required(@Nullable InetSocketAddress address, String which) {
        if (address == null) {
            throw new IllegalStateException(describe() + " has no " + which + " IP address");
        }
        return address;
    }

    private long requireDevice(String what) {
        long context = device;
        if (context == 0) {
            throw new IllegalStateException(describe() + " is not bound to a device, which " + what
                    + " needs: bind it to an address of an RDMA interface or resolve an address first");
        }
        return context;
    }

    private void requireQueuePair(String what, ConnectionParameters parameters) {
        if (queuePair == null && parameters.qpNumber() == 0) {
            throw new IllegalStateException(
                    what + " of " + describe() + " needs a queue pair: create one on the id, or set the number of an"
                            + " external one in the parameters");
        }
    }

    private void checkLength(String message, int length, int limit) {
        if (length > limit) {
            throw new IllegalArgumentException(message + " of port space " + portSpace + " can have at most " + limit
                    + " bytes of private data, not " + length);
        }
    }

    private static int millis(Duration timeout) {
        return (int) Math.clamp(Deadline.nanos(timeout) / 1_000_000, 1L, Integer.MAX_VALUE);
    }

    private static MemorySegment encode(Arena arena, ConnectionParameters parameters) {
        MemorySegment native_ = rdma_conn_param.allocate(arena);
        byte[] data = parameters.privateData();
        if (data.length > 0) {
            rdma_conn_param.private_data(native_, arena.allocateFrom(ValueLayout.JAVA_BYTE, data));
        }
        rdma_conn_param.private_data_len(native_, (byte) data.length);
        rdma_conn_param.responder_resources(native_, (byte) parameters.responderResources());
        rdma_conn_param.initiator_depth(native_, (byte) parameters.initiatorDepth());
        rdma_conn_param.flow_control(native_, (byte) (parameters.flowControl() ? 1 : 0));
        rdma_conn_param.retry_count(native_, (byte) parameters.retryCount());
        rdma_conn_param.rnr_retry_count(native_, (byte) parameters.rnrRetryCount());
        rdma_conn_param.srq(native_, (byte) (parameters.srq() ? 1 : 0));
        rdma_conn_param.qp_num(native_, parameters.qpNumber());
        return native_;
    }

    private interface Call {
        void run(Arena arena);
    }

    private void withArena(Call call) {
        boolean done = locked(() -> {
            try (Arena arena = Arena.ofConfined()) {
                call.run(arena);
                return true;
            }
        });
    }

    /** Runs a call with the id open and its channel's lock held. */
    private <T> T locked(Supplier<T> call) {
        enter();
        try {
            return lockedEvenInClosing(call);
        } finally {
            exit();
        }
    }

    private <T> T lockedEvenInClosing(Supplier<T> call) {
        while (true) {
            EventChannel here = channel;
            here.lock().lock();
            try {
                if (here == channel) {
                    return call.get();
                }
            } finally {
                here.lock().unlock();
            }
        }
    }

    @Override
    public String describe() {
        return "cm-id " + number + " " + portSpace + addresses.text();
    }

    @Override
    protected void release() {
        boolean done = lockedEvenInClosing(() -> {
            if (device != 0) {
                CmContexts.release(device);
            }
            try {
                channel.forget(id);
                Rdmacm.destroyId(id, this::describe);
            } catch (RuntimeException | Error e) {
                channel.restore(id, this);
                if (device != 0) {
                    CmContexts.acquire(device);
                }
                throw e;
            }
            return true;
        });
    }
}
