package io.rdmatest.scenarios.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.rdmatest.Cause;
import io.rdmatest.scenarios.role.ScenarioException;
import java.lang.foreign.Arena;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;

class TransferBuffersTests {

    private static final int SIZE = 8 << 20;

    @Test
    void transfersDoNotCountAsDirectBuffersWhichTheHeapLimits() {
        long before = directBytes();
        try (TransferBuffers buffers = TransferBuffers.allocate(SIZE)) {
            assertThat(buffers.out().asByteBuffer().isDirect()).isTrue();
            assertThat(buffers.out().byteSize()).isEqualTo(SIZE);
            assertThat(buffers.in().byteSize()).isEqualTo(SIZE);
            assertThat(directBytes() - before).isLessThan(SIZE);
        }
    }

    private static long directBytes() {
        return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct"))
                .mapToLong(BufferPoolMXBean::getMemoryUsed)
                .sum();
    }

    @Test
    void aHostWithoutTheMemoryIsToldWhatHelps() {
        Arena arena = Arena.ofConfined();
        assertThatExceptionOfType(ScenarioException.class)
                .isThrownBy(() -> TransferBuffers.allocate(
                        arena,
                        (bytes, alignment) -> {
                            throw new OutOfMemoryError("Cannot reserve memory");
                        },
                        1 << 30))
                .withMessageContaining("1073741824 bytes")
                .withMessageContaining("smaller -S")
                .satisfies(failure -> assertThat(failure.rdmaCause()).isEqualTo(Cause.HOST_NOT_READY));
        assertThat(arena.scope().isAlive()).isFalse();
    }
}
