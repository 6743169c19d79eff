package io.rdmatest.verbs;

import java.util.Collection;
import java.util.EnumSet;
import java.util.Set;

/** What may be done to a memory region or through a queue pair (enum ibv_access_flags; ibv_reg_mr(3)). */
public enum Access {
    /**
     * The local device may write to the memory. Receives, RDMA READs and atomics need this, and so does every remote write or
     * atomic. On iWARP, the memory that an RDMA READ fills needs {@link #REMOTE_WRITE} as well: there the response to a read is a
     * write.
     */
    LOCAL_WRITE(1),
    /** The peer may RDMA WRITE. */
    REMOTE_WRITE(1 << 1),
    /** The peer may RDMA READ. */
    REMOTE_READ(1 << 2),
    /** The peer may run atomic operations. */
    REMOTE_ATOMIC(1 << 3),
    /** Memory windows may be bound to the region. */
    MEMORY_WINDOW_BIND(1 << 4),
    /** Pages are brought in on demand instead of being locked; only on devices with {@link DeviceCapability#ON_DEMAND_PAGING}. */
    ON_DEMAND(1 << 6),
    /** Writes may arrive out of order. A device without relaxed ordering ignores this flag. */
    RELAXED_ORDERING(1 << 20);

    private final int bit;

    Access(int bit) {
        this.bit = bit;
    }

    int bit() {
        return bit;
    }

    static int mask(Collection<Access> accesses) {
        int mask = 0;
        for (Access access : accesses) {
            mask |= access.bit;
        }
        return mask;
    }

    static Set<Access> ofMask(int mask) {
        Set<Access> accesses = EnumSet.noneOf(Access.class);
        for (Access access : values()) {
            if ((mask & access.bit) != 0) {
                accesses.add(access);
            }
        }
        return accesses;
    }
}
