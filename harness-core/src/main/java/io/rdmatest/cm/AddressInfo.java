package io.rdmatest.cm;

import io.rdmatest.Cause;
import io.rdmatest.Deadline;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.ffi.rdma_addrinfo;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.internal.Native;
import io.rdmatest.internal.linux.NativeCalls;
import io.rdmatest.internal.linux.SocketAddresses;
import io.rdmatest.verbs.Gid;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The result of an address look-up: the RDMA counterpart of getaddrinfo (struct rdma_addrinfo, rdma_getaddrinfo(3)).
 *
 * <p>It is a copy and needs no closing. The route and the connection data come from the InfiniBand communication
 * manager assistant (ibacm(8)). They are empty if ibacm does not run.
 */
public final class AddressInfo {

    private static final byte[] NOTHING = {};

    private final int flags;
    private final int qpType;
    private final int portSpace;
    private final Side source;
    private final Side destination;
    private final byte[] route;
    private final byte[] connectData;

    /** An address as a C struct, and decoded. */
    private record Side(
            byte[] sockaddr,
            @Nullable InetSocketAddress ip,
            @Nullable IbAddress infiniband,
            String canonicalName) {

        static Side copy(MemorySegment address, int length, MemorySegment name) {
            String canonical = Native.string(name, 1025);
            if (address.address() == 0 || length == 0) {
                return new Side(NOTHING, null, null, canonical);
            }
            MemorySegment sockaddr = address.reinterpret(length);
            return new Side(
                    sockaddr.toArray(ValueLayout.JAVA_BYTE),
                    SocketAddresses.decode(sockaddr),
                    IbAddress.decode(sockaddr),
                    canonical);
        }

        @Override
        public String toString() {
            return ip != null ? SocketAddresses.text(ip) : infiniband != null ? infiniband.toString() : "-";
        }
    }

    private AddressInfo(MemorySegment info) {
        flags = rdma_addrinfo.ai_flags(info);
        qpType = rdma_addrinfo.ai_qp_type(info);
        portSpace = rdma_addrinfo.ai_port_space(info);
        source = Side.copy(
                rdma_addrinfo.ai_src_addr(info), rdma_addrinfo.ai_src_len(info), rdma_addrinfo.ai_src_canonname(info));
        destination = Side.copy(
                rdma_addrinfo.ai_dst_addr(info), rdma_addrinfo.ai_dst_len(info), rdma_addrinfo.ai_dst_canonname(info));
        route = bytes(rdma_addrinfo.ai_route(info), rdma_addrinfo.ai_route_len(info));
        connectData = bytes(rdma_addrinfo.ai_connect(info), rdma_addrinfo.ai_connect_len(info));
    }

    private static byte[] bytes(MemorySegment address, long length) {
        return address.address() == 0 || length == 0
                ? NOTHING
                : address.reinterpret(length).toArray(ValueLayout.JAVA_BYTE);
    }

    /** The format of a node's text: {@code -f} of ucmatose(1) and rstream(1). */
    public enum Format {
        /** A host name, or an address of IPv4 or IPv6. */
        NAME,
        /** A numeric IPv4 or IPv6 address: no name service is asked. */
        IP,
        /** A numeric IPv6 address. */
        IPV6,
        /** A GID in the notation of IPv6: native InfiniBand addressing (AF_IB). */
        GID
    }

    /**
     * The hints of a look-up.
     *
     * @param format the format of the node and the source
     * @param passive whether the address is for listening; otherwise it is for connecting
     * @param numericHost whether the name service is not asked; implied by every format except NAME
     * @param noRoute whether to skip the route, whose look-up can take long
     * @param portSpace the port space of the service
     * @param source the local address, in the same format; null lets the kernel choose it by the route
     */
    public record Hints(
            Format format,
            boolean passive,
            boolean numericHost,
            boolean noRoute,
            PortSpace portSpace,
            @Nullable String source) {

        /** Checks that nothing is missing. */
        public Hints {
            Objects.requireNonNull(format, "format");
            Objects.requireNonNull(portSpace, "portSpace");
            if (passive && source != null) {
                throw new IllegalArgumentException(
                        "a passive look-up has no source: the node is the address to" + " listen on");
            }
        }

        /**
         * Returns hints for connecting to a node.
         *
         * @param format the format of the texts
         * @param portSpace the port space of the service
         */
        public static Hints active(Format format, PortSpace portSpace) {
            return new Hints(format, false, false, false, portSpace, null);
        }

        /**
         * Returns hints for listening.
         *
         * @param format the format of the texts
         * @param portSpace the port space of the service
         */
        public static Hints passive(Format format, PortSpace portSpace) {
            return new Hints(format, true, false, false, portSpace, null);
        }

        /**
         * Returns these hints with a source.
         *
         * @param node the local address; null lets the kernel choose it by the route
         */
        public Hints withSource(@Nullable String node) {
            return new Hints(format, passive, numericHost, noRoute, portSpace, node);
        }

        /**
         * Returns these hints with or without the route.
         *
         * @param without whether to skip the route
         */
        public Hints withNoRoute(boolean without) {
            return new Hints(format, passive, numericHost, without, portSpace, source);
        }

        private void encode(MemorySegment hints) {
            int flags = passive ? rdma_h.RAI_PASSIVE() : 0;
            if (numericHost || format != Format.NAME) {
                flags |= rdma_h.RAI_NUMERICHOST();
            }
            if (noRoute) {
                flags |= rdma_h.RAI_NOROUTE();
            }
            if (format == Format.GID || format == Format.IPV6) {
                flags |= rdma_h.RAI_FAMILY();
                rdma_addrinfo.ai_family(hints, format == Format.GID ? rdma_h.AF_IB() : rdma_h.AF_INET6());
            }
            rdma_addrinfo.ai_flags(hints, flags);
            rdma_addrinfo.ai_port_space(hints, portSpace.value());
            // The library derives the socket type from the queue pair type. Without it, TCP comes first in every port
            // space.
            rdma_addrinfo.ai_qp_type(hints, portSpace.isDatagram() ? rdma_h.IBV_QPT_UD() : rdma_h.IBV_QPT_RC());
        }
    }

    /**
     * Looks an address up (rdma_getaddrinfo(3)). The look-up runs on its own thread, because neither the name service
     * nor ibacm can be interrupted. After a timeout the thread ends by itself and frees the result.
     *
     * @param node the host, in the hints' format; null for the wildcard address of a passive look-up
     * @param service a port number, or the name of a service in services(5); null for none
     * @param hints the hints
     * @param timeout the longest wait
     * @return the answers in the library's order, the best first; never empty
     * @throws IllegalArgumentException if the format does not fit the node, or there is neither node nor service
     * @throws RdmaException if the name or the service is unknown
     * @throws RdmaTimeoutException if the name service or ibacm does not answer
     */
    public static List<AddressInfo> lookup(
            @Nullable String node, @Nullable String service, Hints hints, Duration timeout) {
        if (node == null && !hints.passive()) {
            throw new IllegalArgumentException("an active look-up needs a node: the host to connect to");
        }
        if (node == null && service == null) {
            throw new IllegalArgumentException("a look-up needs a node or a service");
        }
        if (hints.format() == Format.GID) {
            // The library accepts any number as a GID and reads past the end of a shorter address.
            requireGid(node);
            requireGid(hints.source());
        }
        Deadline deadline = Deadline.after(timeout);
        NativeCalls.requireLibraries();
        CompletableFuture<List<AddressInfo>> answer = new CompletableFuture<>();
        Thread thread = Thread.ofPlatform().daemon().name("rdma_getaddrinfo").unstarted(() -> {
            try {
                boolean ignored = answer.complete(lookupNow(node, service, hints));
            } catch (Throwable e) {
                boolean ignored = answer.completeExceptionally(e);
            }
        });
        thread.start();
        String awaited = "address of " + node + " from rdma_getaddrinfo";
        try {
            return answer.get(deadline.nanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new RdmaTimeoutException(
                    Cause.UNKNOWN_HOST, awaited, deadline, "the name service or ibacm did not answer");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new RdmaException(Cause.INTERRUPTED, "interrupted while waiting for the " + awaited);
        } catch (ExecutionException e) {
            throw Native.unchecked("rdma_getaddrinfo", e.getCause());
        }
    }

    private static void requireGid(@Nullable String text) {
        if (text != null) {
            Gid ignored = Gid.parse(text);
        }
    }

    private static List<AddressInfo> lookupNow(@Nullable String node, @Nullable String service, Hints hints) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment wanted = rdma_addrinfo.allocate(arena);
            hints.encode(wanted);
            String source = hints.source();
            if (source == null) {
                return call(arena, node, service, wanted, hints, AddressInfo::copyAll);
            }
            // The library takes a source only from an earlier passive look-up.
            MemorySegment passive = rdma_addrinfo.allocate(arena);
            passive.copyFrom(wanted);
            rdma_addrinfo.ai_flags(passive, rdma_addrinfo.ai_flags(wanted) | rdma_h.RAI_PASSIVE());
            return call(arena, source, null, passive, hints, from -> {
                rdma_addrinfo.ai_src_addr(wanted, rdma_addrinfo.ai_src_addr(from));
                rdma_addrinfo.ai_src_len(wanted, rdma_addrinfo.ai_src_len(from));
                return call(arena, node, service, wanted, hints, AddressInfo::copyAll);
            });
        }
    }

    private interface Use {
        List<AddressInfo> of(MemorySegment answers);
    }

    private static List<AddressInfo> call(
            Arena arena, @Nullable String node, @Nullable String service, MemorySegment wanted, Hints hints, Use use) {
        // Without a node the library returns the IPv4 wildcard for a GID, too.
        String host = node == null && hints.format() == Format.GID ? "::" : node;
        MemorySegment out = arena.allocate(ValueLayout.ADDRESS);
        Rdmacm.getAddressInfo(
                host == null ? MemorySegment.NULL : arena.allocateFrom(host),
                service == null ? MemorySegment.NULL : arena.allocateFrom(service),
                wanted,
                out,
                (host == null ? "any address" : host) + (service == null ? "" : ", service " + service) + ", format "
                        + hints.format());
        MemorySegment answers = out.get(ValueLayout.ADDRESS, 0).reinterpret(rdma_addrinfo.sizeof());
        try {
            return use.of(answers);
        } finally {
            Rdmacm.freeAddressInfo(answers);
        }
    }

    private static List<AddressInfo> copyAll(MemorySegment first) {
        List<AddressInfo> copies = new ArrayList<>();
        for (MemorySegment info = first; info.address() != 0; ) {
            MemorySegment whole = info.reinterpret(rdma_addrinfo.sizeof());
            copies.add(new AddressInfo(whole));
            info = rdma_addrinfo.ai_next(whole);
        }
        return List.copyOf(copies);
    }

    /** Returns whether the address is for listening. */
    public boolean isPassive() {
        return (flags & rdma_h.RAI_PASSIVE()) != 0;
    }

    /** Returns whether the addresses are native InfiniBand ones (AF_IB). */
    public boolean isNative() {
        return source.infiniband() != null || destination.infiniband() != null;
    }

    /** Returns the port space; empty if it is not one of {@link PortSpace}. */
    public Optional<PortSpace> portSpace() {
        for (PortSpace space : PortSpace.values()) {
            if (space.value() == portSpace) {
                return Optional.of(space);
            }
        }
        return Optional.empty();
    }

    /** Returns the queue pair type's number (enum ibv_qp_type): 2 for RC, 4 for UD. */
    public int qpType() {
        return qpType;
    }

    /** Returns the local IP address; empty if there is none. */
    public Optional<InetSocketAddress> source() {
        return Optional.ofNullable(source.ip());
    }

    /** Returns the native local address; empty if there is none. */
    public Optional<IbAddress> nativeSource() {
        return Optional.ofNullable(source.infiniband());
    }

    /** Returns the peer's IP address; empty in a passive result, or for a native address. */
    public Optional<InetSocketAddress> destination() {
        return Optional.ofNullable(destination.ip());
    }

    /** Returns the peer's native address; empty in a passive result, or for an IP address. */
    public Optional<IbAddress> nativeDestination() {
        return Optional.ofNullable(destination.infiniband());
    }

    /** Returns the canonical name of the local address; empty if there is none. */
    public String sourceName() {
        return source.canonicalName();
    }

    /** Returns the canonical name of the peer's address; empty if there is none. */
    public String destinationName() {
        return destination.canonicalName();
    }

    /** Returns a copy of the local address as a C struct sockaddr; empty if there is none. */
    public byte[] sourceSockaddr() {
        return source.sockaddr().clone();
    }

    /** Returns a copy of the peer's address as a C struct sockaddr; empty if there is none. */
    public byte[] destinationSockaddr() {
        return destination.sockaddr().clone();
    }

    /** Returns a copy of the route: on InfiniBand an array of struct ibv_path_data; empty without ibacm. */
    public byte[] route() {
        return route.clone();
    }

    /** Returns a copy of the bytes that must precede the private data of a connection request; may be empty. */
    public byte[] connectData() {
        return connectData.clone();
    }

    /**
     * Explains a failure to use this address if this host has no InfiniBand port.
     *
     * @param failure the failure of a call with this address
     * @return the exception to throw: {@link RdmaException#isUnsupported()} if the address is native and this host has
     *     no InfiniBand port; else the failure itself
     */
    public RdmaException explain(RdmaException failure) {
        boolean noDevice = failure.errno() == rdma_h.ENODEV() || failure.errno() == rdma_h.EADDRNOTAVAIL();
        return isNative() && noDevice && !LinkLayers.hasInfiniband()
                ? LinkLayers.nativeAddressing(failure, toString())
                : failure;
    }

    @Override
    public String toString() {
        return (isPassive() ? "listen on " + source : source + " -> " + destination)
                + portSpace().map(space -> ", port space " + space).orElse("")
                + (route.length == 0 ? "" : ", route of " + route.length + " bytes")
                + (connectData.length == 0
                        ? ""
                        : ", connection data " + HexFormat.of().formatHex(connectData));
    }
}
