package io.rdmatest.cm;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.ffi.rdma_addrinfo;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.internal.Native;
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
 * What the library knows of an address: the RDMA counterpart of getaddrinfo (struct rdma_addrinfo, rdma_getaddrinfo(3)).
 *
 * <p>Everything is copied out; there is nothing to close. The route and the connection data come from the InfiniBand
 * communication manager assistant (ibacm(8)) and are empty where it doesn't run.
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

    /** An address as the library laid it out, and what it says. */
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
                    CmAddresses.decode(sockaddr),
                    IbAddress.decode(sockaddr),
                    canonical);
        }

        @Override
        public String toString() {
            return ip != null ? CmAddresses.text(ip) : infiniband != null ? infiniband.toString() : "-";
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

    /** How the text of a node is to be read: {@code -f} of ucmatose(1) and rstream(1). */
    public enum Format {
        /** A host name, or an address of IPv4 or IPv6. */
        NAME,
        /** An address of IPv4 or IPv6 in figures: no name service is asked. */
        IP,
        /** An address of IPv6 in figures. */
        IPV6,
        /** A GID in the notation of IPv6: native InfiniBand addressing (AF_IB). */
        GID
    }

    /**
     * What the caller wants.
     *
     * @param format how the node and the source are to be read
     * @param passive whether the address is to listen on, rather than to connect to
     * @param numericHost whether no name service may be asked; implied by every format but NAME
     * @param noRoute whether the route is not asked for, which can take long
     * @param portSpace whose ports are meant
     * @param source what to send from, in the same format; null leaves it to the routes
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
                throw new IllegalArgumentException("a passive look-up has no source: the node is what to listen on");
            }
        }

        /**
         * For connecting to a node.
         *
         * @param format how the texts are to be read
         * @param portSpace whose ports are meant
         */
        public static Hints active(Format format, PortSpace portSpace) {
            return new Hints(format, false, false, false, portSpace, null);
        }

        /**
         * For listening.
         *
         * @param format how the texts are to be read
         * @param portSpace whose ports are meant
         */
        public static Hints passive(Format format, PortSpace portSpace) {
            return new Hints(format, true, false, false, portSpace, null);
        }

        /**
         * Returns these hints with a source.
         *
         * @param node what to send from; null leaves it to the routes
         */
        public Hints withSource(@Nullable String node) {
            return new Hints(format, passive, numericHost, noRoute, portSpace, node);
        }

        /**
         * Returns these hints with or without asking for the route.
         *
         * @param without whether it is not asked for
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
            // The library takes the socket type from it; without one it would answer for TCP first in every port space.
            rdma_addrinfo.ai_qp_type(hints, portSpace.isDatagram() ? rdma_h.IBV_QPT_UD() : rdma_h.IBV_QPT_RC());
        }
    }

    /**
     * Looks an address up (rdma_getaddrinfo(3)). The look-up runs on a thread of its own, because neither the name service
     * nor ibacm can be interrupted; one that takes too long ends there by itself, and what it got is freed.
     *
     * @param node the host, in the hints' format; null for the wildcard address of a passive look-up
     * @param service a port number, or the name of a service in services(5); null for none
     * @param hints what is wanted
     * @param timeout how long at most
     * @return the answers in the library's order, the best first; never empty
     * @throws IllegalArgumentException if the format does not fit the node, or there is neither node nor service
     * @throws RdmaException if the name or the service is not known
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
            // The library takes any figures for a GID and reads behind the end of a shorter address.
            requireGid(node);
            requireGid(hints.source());
        }
        long nanos = EventChannel.nanos(timeout);
        Native.requireLibraries();
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
            return answer.get(nanos, TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new RdmaTimeoutException(
                    Cause.UNKNOWN_HOST, awaited, timeout, "the name service or ibacm did not answer");
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
            // The library reads a source from an earlier, passive answer only.
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
        // Without a node the library takes the IPv4 wildcard for a GID too.
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

    /** Tells whether the address is to listen on. */
    public boolean isPassive() {
        return (flags & rdma_h.RAI_PASSIVE()) != 0;
    }

    /** Tells whether the addresses are native InfiniBand ones (AF_IB). */
    public boolean isNative() {
        return source.infiniband() != null || destination.infiniband() != null;
    }

    /** Returns whose ports are meant; empty if it is none of {@link PortSpace}. */
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

    /** Returns the local address; empty if the routes decide, or if it is a native one. */
    public Optional<InetSocketAddress> source() {
        return Optional.ofNullable(source.ip());
    }

    /** Returns the native local address; empty if the routes decide, or if it is one of IP. */
    public Optional<IbAddress> nativeSource() {
        return Optional.ofNullable(source.infiniband());
    }

    /** Returns the peer's address; empty in a passive answer, or if it is a native one. */
    public Optional<InetSocketAddress> destination() {
        return Optional.ofNullable(destination.ip());
    }

    /** Returns the peer's native address; empty in a passive answer, or if it is one of IP. */
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

    /** Returns a copy of what must precede the private data of a connection request; empty if there is nothing. */
    public byte[] connectData() {
        return connectData.clone();
    }

    /**
     * Explains a failure to use this address where no InfiniBand port can serve it.
     *
     * @param failure what a call with this address threw
     * @return what to throw instead: {@link RdmaException#isUnsupported()} if the address is native and no port of this
     *     host is an InfiniBand one; else the failure itself
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
