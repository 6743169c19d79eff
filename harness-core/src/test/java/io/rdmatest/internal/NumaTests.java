package io.rdmatest.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmatest.RdmaException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class NumaTests {

    private static final long PAGE = 4096;

    @Test
    void namesTheNodesThatAreThere() {
        assertThatExceptionOfType(RdmaException.class)
                .isThrownBy(() -> Numa.check(4711))
                .withMessageMatching("(?s).*NUMA node 4711.*(allowed: 0|choose no node).*");
    }

    @Test
    void bindsAlignedMemory() throws IOException {
        assumeTrue(
                Files.exists(Path.of("/sys/devices/system/node/node0")),
                "unsupported by the kernel: it has no NUMA nodes");
        MemorySegment memory;
        try (Arena arena = Arena.ofShared()) {
            memory = Numa.allocate(arena, 10_000, 1 << 16, PAGE, 0);
            assertThat(memory.byteSize()).isEqualTo(10_000);
            assertThat(memory.address() % (1 << 16)).isZero();
            assertThat(memory.toArray(ValueLayout.JAVA_BYTE)).containsOnly(0);
            memory.fill((byte) 1);
            assertThat(Files.readAllLines(Path.of("/proc/self/numa_maps"))).anyMatch(line -> line.contains(" bind:0 "));
        }
        assertThat(memory.scope().isAlive()).isFalse();
    }
}
