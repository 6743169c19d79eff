package io.rdmatest.cm;

import io.rdmatest.ffi.rdma_h;
import io.rdmatest.ffi.sockaddr_in;
import io.rdmatest.ffi.sockaddr_in6;
import io.rdmatest.ffi.sockaddr_storage;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/** Socket addresses in the layout of the kernel. */
final class CmAddresses {

    private static final ValueLayout.OfShort BIG_ENDIAN_SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    /** The offset of the port, after the family, in sockaddr_in and sockaddr_in6. */
    private static final long PORT_OFFSET = 2;

    private CmAddresses() {}

    /**
     * Encodes an address.
     *
     * @throws IllegalArgumentException if its host name is not resolved
     */
    static MemorySegment encode(Arena arena, InetSocketAddress address) {
        InetAddress host = address.getAddress();
        if (host == null) {
            throw new IllegalArgumentException("the host name " + address.getHostString() + " can't be resolved");
        }
        MemorySegment storage = sockaddr_storage.allocate(arena);
        byte[] bytes = host.getAddress();
        storage.set(BIG_ENDIAN_SHORT, PORT_OFFSET, (short) address.getPort());
        if (host instanceof Inet6Address ip6) {
            sockaddr_in6.sin6_family(storage, (short) rdma_h.AF_INET6());
            MemorySegment.copy(bytes, 0, storage, ValueLayout.JAVA_BYTE, sockaddr_in6.sin6_addr$offset(), 16);
            sockaddr_in6.sin6_scope_id(storage, ip6.getScopeId());
        } else {
            sockaddr_in.sin_family(storage, (short) rdma_h.AF_INET());
            MemorySegment.copy(bytes, 0, storage, ValueLayout.JAVA_BYTE, sockaddr_in.sin_addr$offset(), 4);
        }
        return storage;
    }

    /** Encodes 16 bytes as an IPv6 address, also an IPv4-mapped one, which Java would convert to IPv4. */
    static MemorySegment encodeIp6(Arena arena, byte[] bytes) {
        MemorySegment storage = sockaddr_storage.allocate(arena);
        sockaddr_in6.sin6_family(storage, (short) rdma_h.AF_INET6());
        MemorySegment.copy(bytes, 0, storage, ValueLayout.JAVA_BYTE, sockaddr_in6.sin6_addr$offset(), 16);
        return storage;
    }

    /** Reads an address; null if it is unset or not an IP address. */
    static @Nullable InetSocketAddress decode(MemorySegment storage) {
        int family = family(storage);
        int port = Short.toUnsignedInt(storage.get(BIG_ENDIAN_SHORT, PORT_OFFSET));
        try {
            if (family == rdma_h.AF_INET()) {
                byte[] bytes = bytes(storage, sockaddr_in.sin_addr$offset(), 4);
                return new InetSocketAddress(Inet4Address.getByAddress(bytes), port);
            }
            if (family == rdma_h.AF_INET6()) {
                byte[] bytes = bytes(storage, sockaddr_in6.sin6_addr$offset(), 16);
                int scope = sockaddr_in6.sin6_scope_id(storage);
                InetAddress host =
                        scope == 0 ? InetAddress.getByAddress(bytes) : Inet6Address.getByAddress(null, bytes, scope);
                return new InetSocketAddress(host, port);
            }
            return null;
        } catch (UnknownHostException e) {
            throw new IllegalStateException("an address with an invalid length", e);
        }
    }

    static int family(MemorySegment storage) {
        return Short.toUnsignedInt(storage.get(ValueLayout.JAVA_SHORT_UNALIGNED, 0));
    }

    static byte[] bytes(MemorySegment from, long offset, int length) {
        return from.asSlice(offset, length).toArray(ValueLayout.JAVA_BYTE);
    }

    /** Writes an address without the slash of {@link InetSocketAddress#toString()}. */
    static String text(InetSocketAddress address) {
        InetAddress host = address.getAddress();
        String name = host == null ? address.getHostString() : host.getHostAddress();
        return (name.indexOf(':') < 0 ? name : "[" + name + "]") + ":" + address.getPort();
    }
}
