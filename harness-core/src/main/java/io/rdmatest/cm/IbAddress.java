package io.rdmatest.cm;

import io.rdmatest.internal.linux.SocketAddresses;
import io.rdmatest.verbs.Gid;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A native InfiniBand address: GID, partition and service id (struct sockaddr_ib, infiniband/ib.h).
 *
 * <p>The kernel accepts it on InfiniBand ports only. Between such addresses it does not add its own header to the
 * private data: the program must add it if the peer expects one.
 *
 * @param gid the port's GID
 * @param pkey the partition key, 0 to 0xFFFF; 0xFFFF is the default partition
 * @param serviceId the 64-bit service id
 * @param serviceMask the significant bits of the service id
 */
public record IbAddress(Gid gid, int pkey, long serviceId, long serviceMask) {

    private static final int DEFAULT_PARTITION = 0xFFFF;
    private static final long PORT_MASK = 0xFFFF;

    /** Checks the ranges. */
    public IbAddress {
        int ignored = ConnectionParameters.checkRange("pkey", pkey, 0, 0xFFFF);
    }

    /**
     * Returns the address of a service in the default partition, with the service id of an IP listener on the same
     * port.
     *
     * @param gid the port's GID
     * @param portSpace TCP, UDP or IB
     * @param port 0 to 65535; 0 lets the kernel choose
     */
    public static IbAddress of(Gid gid, PortSpace portSpace, int port) {
        int checked = ConnectionParameters.checkRange("port", port, 0, 0xFFFF);
        long serviceId = ((long) portSpace.value() << 16) | checked;
        return new IbAddress(gid, DEFAULT_PARTITION, serviceId, checked == 0 ? ~PORT_MASK : -1L);
    }

    /** A GID without a service, for multicast groups. */
    static IbAddress of(Gid gid) {
        return new IbAddress(gid, DEFAULT_PARTITION, 0, 0);
    }

    MemorySegment encode(Arena arena) {
        return SocketAddresses.encode(new SocketAddresses.Infiniband(gid.bytes(), pkey, serviceId, serviceMask), arena);
    }

    /** Reads a native address; null for any other family. */
    static @Nullable IbAddress decode(MemorySegment sockaddr) {
        SocketAddresses.Infiniband found = SocketAddresses.decodeInfiniband(sockaddr);
        return found == null
                ? null
                : new IbAddress(Gid.of(found.gid()), found.pkey(), found.serviceId(), found.serviceMask());
    }

    /** Reads the port number of a native address; 0 for any other family. */
    static int port(MemorySegment sockaddr) {
        SocketAddresses.Infiniband found = SocketAddresses.decodeInfiniband(sockaddr);
        return found == null ? 0 : (int) (found.serviceId() & PORT_MASK);
    }

    @Override
    public String toString() {
        return gid + " service id 0x" + Long.toHexString(serviceId);
    }
}
