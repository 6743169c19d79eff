package io.rdmatest.rsocket;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.ffi.sockaddr_in;
import io.rdmatest.ffi.sockaddr_in6;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.ValueLayout;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteOrder;

/** Converts socket addresses to and from sockaddr_in and sockaddr_in6. */
final class SocketAddresses {

    private static final ValueLayout.OfShort PORT = ValueLayout.JAVA_SHORT.withOrder(ByteOrder.BIG_ENDIAN);

    private SocketAddresses() {}

    static MemorySegment encode(InetSocketAddress address, SegmentAllocator allocator) {
        if (address.isUnresolved()) {
            throw new RdmaException(Cause.UNKNOWN_HOST, "unknown host '" + address.getHostString() + "'");
        }
        InetAddress ip = address.getAddress();
        boolean ipv4 = ip instanceof Inet4Address;
        MemorySegment sockaddr = allocator.allocate(ipv4 ? sockaddr_in.layout() : sockaddr_in6.layout());
        sockaddr.fill((byte) 0);
        sockaddr.set(ValueLayout.JAVA_SHORT, sockaddr_in.sin_family$offset(), (short)
                (ipv4 ? rdma_h.AF_INET() : rdma_h.AF_INET6()));
        sockaddr.set(PORT, sockaddr_in.sin_port$offset(), (short) address.getPort());
        MemorySegment bytes = MemorySegment.ofArray(ip.getAddress());
        MemorySegment.copy(
                bytes,
                0,
                sockaddr,
                ipv4 ? sockaddr_in.sin_addr$offset() : sockaddr_in6.sin6_addr$offset(),
                bytes.byteSize());
        if (ip instanceof Inet6Address six) {
            sockaddr_in6.sin6_scope_id(sockaddr, six.getScopeId());
        }
        return sockaddr;
    }

    static InetSocketAddress decode(MemorySegment sockaddr) {
        int family = sockaddr.get(ValueLayout.JAVA_SHORT, sockaddr_in.sin_family$offset()) & 0xffff;
        int port = sockaddr.get(PORT, sockaddr_in.sin_port$offset()) & 0xffff;
        try {
            if (family == rdma_h.AF_INET()) {
                byte[] bytes =
                        sockaddr.asSlice(sockaddr_in.sin_addr$offset(), 4).toArray(ValueLayout.JAVA_BYTE);
                return new InetSocketAddress(InetAddress.getByAddress(bytes), port);
            }
            if (family == rdma_h.AF_INET6()) {
                byte[] bytes =
                        sockaddr.asSlice(sockaddr_in6.sin6_addr$offset(), 16).toArray(ValueLayout.JAVA_BYTE);
                int scope = sockaddr_in6.sin6_scope_id(sockaddr);
                return new InetSocketAddress(Inet6Address.getByAddress(null, bytes, scope == 0 ? -1 : scope), port);
            }
        } catch (UnknownHostException e) {
            throw new IllegalStateException("an address of 4 or 16 bytes is invalid", e);
        }
        throw new RdmaException(
                Cause.UNSUPPORTED, "address family " + family + " of an rsocket is neither IPv4 nor IPv6");
    }
}
