package io.rdmatest.rsocket;

import io.rdmatest.NativeResource;
import io.rdmatest.RdmaException;
import io.rdmatest.internal.Native;
import io.rdmatest.internal.linux.NativeCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Memory of this side to which the peer of a connected rsocket writes directly, riomap in rsocket(7).
 *
 * <p>The peer learns of the mapping with the next data that this side sends: send at least one byte after mapping, and
 * let the peer receive it before it writes.
 */
public final class IoMapping extends NativeResource {

    private static final int PROT_WRITE = 2;

    private final RSocket socket;
    private final Arena arena;
    private final MemorySegment memory;
    private final long offset;

    private IoMapping(RSocket socket, Arena arena, MemorySegment memory, long offset) {
        this.socket = socket;
        this.arena = arena;
        this.memory = memory;
        this.offset = offset;
        super("iomap", socket);
    }

    static IoMapping create(RSocket socket, long size, long offset) {
        if (size < 1 || size > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("a mapping must have 1 … 2147483647 bytes, not " + size);
        }
        // A shared arena that this object owns: a NIC writes to the memory until it is unmapped.
        Arena arena = Arena.ofShared();
        MemorySegment memory = arena.allocate(size, 64);
        boolean mapped = false;
        try {
            long at = socket.guarded(fd -> RCalls.ioMap(fd, memory, PROT_WRITE, offset));
            if (at == -1) {
                throw new RdmaException(
                        "riomap",
                        socket.describe() + ", " + size + " bytes, offset " + offset,
                        Native.errno(),
                        "The socket must be connected, and ioMapSize(n) set to the number of mappings before connecting"
                                + " or listening.");
            }
            IoMapping mapping = new IoMapping(socket, arena, memory, at);
            mapped = true;
            return mapping;
        } finally {
            if (!mapped) {
                arena.close();
            }
        }
    }

    /** Returns the peer's offset of the mapping, in bytes. */
    public long offset() {
        return offset;
    }

    /** Returns the memory; using it after {@link #close()} is an {@link IllegalStateException}. */
    public MemorySegment bytes() {
        return memory;
    }

    @Override
    protected void release() {
        long result = socket.guarded(fd -> RCalls.ioUnmap(fd, memory));
        if (result == -1) {
            // The memory stays allocated: the device may still write to it.
            throw NativeCalls.failure("riounmap", describe());
        }
        arena.close();
    }

    @Override
    public String describe() {
        return "iomap " + offset + "+" + memory.byteSize() + " of " + socket.describe();
    }
}
