package io.rdmatest.scenarios.stream;

import io.rdmatest.Cause;
import io.rdmatest.scenarios.role.ScenarioException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;

/**
 * The send and receive buffers of one side of a stream, for the thread that made them.
 *
 * <p>They come from an arena: -XX:MaxDirectMemorySize, by default the size of the heap, limits direct buffers to less
 * than two of the largest transfers.
 */
final class TransferBuffers implements AutoCloseable {

    private final Arena arena;
    private final MemorySegment out;
    private final MemorySegment in;

    private TransferBuffers(Arena arena, SegmentAllocator memory, int sizeBytes) {
        this.arena = arena;
        this.out = memory.allocate(sizeBytes, Long.BYTES);
        this.in = memory.allocate(sizeBytes, Long.BYTES);
    }

    /**
     * Allocates both.
     *
     * @param sizeBytes the size of a transfer
     * @throws ScenarioException if there is too little memory
     */
    static TransferBuffers allocate(int sizeBytes) {
        Arena arena = Arena.ofConfined();
        return allocate(arena, arena, sizeBytes);
    }

    static TransferBuffers allocate(Arena arena, SegmentAllocator memory, int sizeBytes) {
        try {
            return new TransferBuffers(arena, memory, sizeBytes);
        } catch (OutOfMemoryError e) {
            arena.close();
            throw new ScenarioException(
                    Cause.HOST_NOT_READY,
                    "This host has too little memory for two transfers of %d bytes, one to send and one to receive: give both sides a smaller -S, or this host more memory"
                            .formatted(sizeBytes),
                    e);
        }
    }

    MemorySegment out() {
        return out;
    }

    MemorySegment in() {
        return in;
    }

    @Override
    public void close() {
        arena.close();
    }
}
