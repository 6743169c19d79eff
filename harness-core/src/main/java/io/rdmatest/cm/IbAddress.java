package io.rdmatest.cm;

import io.rdmatest.ffi.rdma_h;
import io.rdmatest.ffi.sockaddr_ib;
import io.rdmatest.ffi.sockaddr_storage;
import io.rdmatest.verbs.Gid;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
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
    private static final ValueLayout.OfShort BE_SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfLong BE_LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

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
        MemorySegment storage = sockaddr_storage.allocate(arena);
        sockaddr_ib.sib_family(storage, (short) rdma_h.AF_IB());
        storage.set(BE_SHORT, sockaddr_ib.sib_pkey$offset(), (short) pkey);
        MemorySegment.copy(gid.bytes(), 0, storage, ValueLayout.JAVA_BYTE, sockaddr_ib.sib_addr$offset(), Gid.LENGTH);
        storage.set(BE_LONG, sockaddr_ib.sib_sid$offset(), serviceId);
        storage.set(BE_LONG, sockaddr_ib.sib_sid_mask$offset(), serviceMask);
        return storage;
    }

    /** Reads a native address; null for any other family. */
    static @Nullable IbAddress decode(MemorySegment storage) {
        if (CmAddresses.family(storage) != rdma_h.AF_IB()) {
            return null;
        }
        return new IbAddress(
                Gid.of(CmAddresses.bytes(storage, sockaddr_ib.sib_addr$offset(), Gid.LENGTH)),
                Short.toUnsignedInt(storage.get(BE_SHORT, sockaddr_ib.sib_pkey$offset())),
                storage.get(BE_LONG, sockaddr_ib.sib_sid$offset()),
                storage.get(BE_LONG, sockaddr_ib.sib_sid_mask$offset()));
    }

    /** Reads the port number of a native address; 0 for any other family. */
    static int port(MemorySegment storage) {
        return CmAddresses.family(storage) == rdma_h.AF_IB()
                ? (int) (storage.get(BE_LONG, sockaddr_ib.sib_sid$offset()) & PORT_MASK)
                : 0;
    }

    @Override
    public String toString() {
        return gid + " service id 0x" + Long.toHexString(serviceId);
    }
}
