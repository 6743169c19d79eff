package io.rdmatest.internal.linux;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.ffi.sockaddr_ib;
import io.rdmatest.ffi.sockaddr_in;
import io.rdmatest.ffi.sockaddr_in6;
import io.rdmatest.ffi.sockaddr_storage;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.ValueLayout;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * Socket addresses in the layout of the kernel: sockaddr_in (ip(7)), sockaddr_in6 (ipv6(7)) with its scope, and sockaddr_ib
 * (infiniband/ib.h). Encoded IP addresses have the size of their structure.
 *
 * <p>Used after {@link NativeCalls#requireLibraries()}.
 */
public final class SocketAddresses {

    private static final ValueLayout.OfShort BE_SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfLong BE_LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    /** The offset of the port, after the family, in sockaddr_in and sockaddr_in6. */
    private static final long PORT_OFFSET = 2;

    private static final int IP4_LENGTH = 4;
    private static final int IP6_LENGTH = 16;

    /**
     * The fields of a sockaddr_ib.
     *
     * @param gid the 16 bytes of the GID
     * @param pkey the partition key, 0 to 0xFFFF
     * @param serviceId the 64-bit service id
     * @param serviceMask the significant bits of the service id
     */
    public record Infiniband(byte[] gid, int pkey, long serviceId, long serviceMask) {}

    private SocketAddresses() {}

    /**
     * Encodes an IP address and a port.
     *
     * @throws RdmaException {@link Cause#UNKNOWN_HOST} if its host name is not resolved
     */
    public static MemorySegment encode(InetSocketAddress address, SegmentAllocator allocator) {
        InetAddress host = address.getAddress();
        if (host == null) {
            throw new RdmaException(Cause.UNKNOWN_HOST, "unknown host '" + address.getHostString() + "'");
        }
        MemorySegment sockaddr;
        if (host instanceof Inet6Address ip6) {
            sockaddr = encodeIp6(ip6.getAddress(), allocator);
            sockaddr_in6.sin6_scope_id(sockaddr, ip6.getScopeId());
        } else {
            sockaddr = allocator.allocate(sockaddr_in.layout()).fill((byte) 0);
            sockaddr_in.sin_family(sockaddr, (short) rdma_h.AF_INET());
            put(host.getAddress(), sockaddr, sockaddr_in.sin_addr$offset());
        }
        sockaddr.set(BE_SHORT, PORT_OFFSET, (short) address.getPort());
        return sockaddr;
    }

    /** Encodes 16 bytes as an IPv6 address, also an IPv4-mapped one, which Java would convert to IPv4. */
    public static MemorySegment encodeIp6(byte[] address, SegmentAllocator allocator) {
        MemorySegment sockaddr = allocator.allocate(sockaddr_in6.layout()).fill((byte) 0);
        sockaddr_in6.sin6_family(sockaddr, (short) rdma_h.AF_INET6());
        put(address, sockaddr, sockaddr_in6.sin6_addr$offset());
        return sockaddr;
    }

    /** Encodes an address of InfiniBand, in the size of any address. */
    public static MemorySegment encode(Infiniband address, SegmentAllocator allocator) {
        MemorySegment sockaddr = sockaddr_storage.allocate(allocator).fill((byte) 0);
        sockaddr_ib.sib_family(sockaddr, (short) rdma_h.AF_IB());
        sockaddr.set(BE_SHORT, sockaddr_ib.sib_pkey$offset(), (short) address.pkey());
        put(address.gid(), sockaddr, sockaddr_ib.sib_addr$offset());
        sockaddr.set(BE_LONG, sockaddr_ib.sib_sid$offset(), address.serviceId());
        sockaddr.set(BE_LONG, sockaddr_ib.sib_sid_mask$offset(), address.serviceMask());
        return sockaddr;
    }

    /** Reads an IP address and its port; null for any other family, or none. An IPv4-mapped address is read as IPv4. */
    public static @Nullable InetSocketAddress decode(MemorySegment sockaddr) {
        int family = family(sockaddr);
        try {
            if (family == rdma_h.AF_INET()) {
                byte[] bytes = bytes(sockaddr, sockaddr_in.sin_addr$offset(), IP4_LENGTH);
                return new InetSocketAddress(Inet4Address.getByAddress(bytes), port(sockaddr));
            }
            if (family == rdma_h.AF_INET6()) {
                byte[] bytes = bytes(sockaddr, sockaddr_in6.sin6_addr$offset(), IP6_LENGTH);
                int scope = sockaddr_in6.sin6_scope_id(sockaddr);
                InetAddress host =
                        scope == 0 ? InetAddress.getByAddress(bytes) : Inet6Address.getByAddress(null, bytes, scope);
                return new InetSocketAddress(host, port(sockaddr));
            }
            return null;
        } catch (UnknownHostException e) {
            throw new IllegalStateException("an address with an invalid length", e);
        }
    }

    /** Reads an address of InfiniBand; null for any other family. */
    public static @Nullable Infiniband decodeInfiniband(MemorySegment sockaddr) {
        return isInfiniband(sockaddr)
                ? new Infiniband(
                        bytes(sockaddr, sockaddr_ib.sib_addr$offset(), IP6_LENGTH),
                        Short.toUnsignedInt(sockaddr.get(BE_SHORT, sockaddr_ib.sib_pkey$offset())),
                        sockaddr.get(BE_LONG, sockaddr_ib.sib_sid$offset()),
                        sockaddr.get(BE_LONG, sockaddr_ib.sib_sid_mask$offset()))
                : null;
    }

    /** Returns whether this is an address of InfiniBand, AF_IB. */
    public static boolean isInfiniband(MemorySegment sockaddr) {
        return family(sockaddr) == rdma_h.AF_IB();
    }

    /** Returns the address family, AF_*; 0 for none. */
    public static int family(MemorySegment sockaddr) {
        return Short.toUnsignedInt(sockaddr.get(ValueLayout.JAVA_SHORT_UNALIGNED, 0));
    }

    /** Writes an address without the slash of {@link InetSocketAddress#toString()}. */
    public static String text(InetSocketAddress address) {
        InetAddress host = address.getAddress();
        String name = host == null ? address.getHostString() : host.getHostAddress();
        return (name.indexOf(':') < 0 ? name : "[" + name + "]") + ":" + address.getPort();
    }

    private static int port(MemorySegment sockaddr) {
        return Short.toUnsignedInt(sockaddr.get(BE_SHORT, PORT_OFFSET));
    }

    private static void put(byte[] bytes, MemorySegment to, long offset) {
        MemorySegment.copy(bytes, 0, to, ValueLayout.JAVA_BYTE, offset, bytes.length);
    }

    private static byte[] bytes(MemorySegment from, long offset, int length) {
        return from.asSlice(offset, length).toArray(ValueLayout.JAVA_BYTE);
    }
}
