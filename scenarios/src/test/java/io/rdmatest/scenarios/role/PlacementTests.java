package io.rdmatest.scenarios.role;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.scenarios.engine.Payload;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The packets of one RDMA WRITE arrive over several paths, and the one with the last byte is not the last one. */
@Timeout(60)
class PlacementTests {

    private static final int SIZE = 64 << 10;
    private static final int PACKET = 4096;
    private static final long MESSAGE = 7;
    private static final VarHandle BYTE = ValueLayout.JAVA_BYTE.varHandle();
    private static final Duration LONG = Duration.ofSeconds(30);

    private static final class Context implements RoleContext {

        private boolean cancelled;

        @Override
        public FabricDevice device() {
            throw new AssertionError("no device");
        }

        @Override
        public void tell(String message) {
            throw new AssertionError(message);
        }

        @Override
        public String hear(String what, Duration timeout) {
            throw new AssertionError(what);
        }

        @Override
        public boolean isCancelled() {
            return cancelled;
        }
    }

    @Test
    void dataWhoseLastBytesComeFirstIsAwaited() throws InterruptedException {
        try (Arena arena = Arena.ofShared()) {
            MemorySegment memory = arena.allocate(SIZE + 1L);
            MemorySegment sent = arena.allocate(SIZE);
            Payload.fill(sent, MESSAGE);
            CountDownLatch marked = new CountDownLatch(1);
            CountDownLatch seenInPart = new CountDownLatch(1);
            Thread device = Thread.ofPlatform().daemon().start(() -> {
                // The packet with the mark, and the packets before it in the opposite order.
                BYTE.setRelease(memory, (long) SIZE, (byte) 1);
                marked.countDown();
                for (int at = SIZE - PACKET; at >= 0; at -= PACKET) {
                    if (at == SIZE / 2) {
                        await(seenInPart);
                    }
                    MemorySegment.copy(sent, at, memory, at, PACKET);
                }
            });
            await(marked);
            MemorySegment data = memory.asSlice(0, SIZE);
            assertThat((byte) BYTE.getAcquire(memory, (long) SIZE)).isEqualTo((byte) 1);
            // Who takes the mark for the arrival of all calls this corrupt.
            assertThat(Payload.isIntact(data, MESSAGE)).isFalse();

            AtomicInteger reads = new AtomicInteger();
            boolean intact = Placement.await(
                    () -> {
                        if (reads.incrementAndGet() == 3) {
                            seenInPart.countDown();
                        }
                        return Payload.isIntact(data, MESSAGE);
                    },
                    () -> false,
                    new Context(),
                    LONG);

            assertThat(intact).isTrue();
            assertThat(reads.get()).isGreaterThanOrEqualTo(3);
            Payload.verify(data, MESSAGE, "here");
            assertThat(device.join(LONG)).isTrue();
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void dataThatStaysWrongIsWrongWhenTheTimeIsOver() {
        assertThat(Placement.await(() -> false, () -> false, new Context(), Duration.ofMillis(50)))
                .isFalse();
    }

    /** All that a peer wrote was placed before its end is told. */
    @Test
    void dataThatIsWrongWhenThePeerIsGoneIsWrongAtOnce() {
        assertThat(Placement.await(() -> false, () -> true, new Context(), LONG))
                .isFalse();
        Context cancelled = new Context();
        cancelled.cancelled = true;
        assertThat(Placement.await(() -> false, () -> false, cancelled, LONG)).isFalse();
    }
}
