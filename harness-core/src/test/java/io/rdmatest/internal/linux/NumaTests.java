package io.rdmatest.internal.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalInt;
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
    void namesTheHugePagesThatAreThere() {
        assertThatExceptionOfType(RdmaException.class)
                .isThrownBy(() -> Numa.checkHugePage(1 << 13))
                .withMessageMatching(
                        "this machine has no huge pages of 8 KiB(; its kernel has .* KiB|: its kernel has no /sys/.*)");
    }

    /** More than any machine has in its pool: what is missing and where to ask for it are told. */
    @Test
    void tellsThatThePoolOfHugePagesIsTooSmall() {
        long page = 1L << 21;
        assumeTrue(
                Files.exists(Path.of("/sys/kernel/mm/hugepages/hugepages-2048kB")),
                "unsupported by the kernel: it has no huge pages of 2 MiB");
        try (Arena arena = Arena.ofShared()) {
            assertThatExceptionOfType(RdmaException.class)
                    .isThrownBy(() -> Numa.allocate(arena, page << 20, 1, page, true, OptionalInt.empty()))
                    .withMessageContaining("It takes 1048576 huge pages, and ")
                    .withMessageContaining("nr_hugepages")
                    .satisfies(failure -> assertThat(failure.rdmaCause()).isEqualTo(Cause.OUT_OF_MEMORY));
        }
    }

    @Test
    void bindsAlignedMemory() throws IOException {
        assumeTrue(
                Files.exists(Path.of("/sys/devices/system/node/node0")),
                "unsupported by the kernel: it has no NUMA nodes");
        MemorySegment memory;
        try (Arena arena = Arena.ofShared()) {
            memory = Numa.allocate(arena, 10_000, 1 << 16, PAGE, false, OptionalInt.of(0));
            assertThat(memory.byteSize()).isEqualTo(10_000);
            assertThat(memory.address() % (1 << 16)).isZero();
            assertThat(memory.toArray(ValueLayout.JAVA_BYTE)).containsOnly(0);
            memory.fill((byte) 1);
            assertThat(Files.readAllLines(Path.of("/proc/self/numa_maps"))).anyMatch(line -> line.contains(" bind:0 "));
        }
        assertThat(memory.scope().isAlive()).isFalse();
    }
}
