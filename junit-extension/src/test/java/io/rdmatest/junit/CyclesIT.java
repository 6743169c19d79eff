package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.ConnectionCycles.Kind;
import java.util.List;
import org.junit.jupiter.api.Tag;

/**
 * Ten thousand connections leave nothing behind: no object in the kernel, no descriptor, no mapping of a queue, no block of
 * native memory and no Java object. That the measurement of memory can fail is proven by {@link MemoryGrowthTests}, for the
 * smallest block and the smallest object.
 */
@Tag("soak")
class CyclesIT {

    private static final int WARM_UP = 2_000;
    private static final int STAGES = 8;
    private static final int PER_STAGE = 1_000;

    @ExclusiveDevice
    @RdmaTest(timeout = "20 min")
    void leaveNothingBehind(FabricDevice device, RdmaReport report) throws Exception {
        assumeThat(MemoryGrowth.isMeasurable())
                .as("the C library tells what it has allocated")
                .isTrue();
        long begin = System.nanoTime();
        MemoryGrowth growth = new MemoryGrowth();
        List<String> handles;
        long descriptors;
        try (ConnectionCycles cycles = new ConnectionCycles(device.address())) {
            cycles.run(WARM_UP, () -> {});
            growth.sample(WARM_UP);
            handles = MemoryGrowth.rdmaHandles();
            descriptors = MemoryGrowth.descriptors();
            for (int stage = 1; stage <= STAGES; stage++) {
                cycles.run(PER_STAGE, () -> {});
                growth.sample(WARM_UP + (long) stage * PER_STAGE);
            }
            assertThat(MemoryGrowth.rdmaHandles()).isEqualTo(handles);
            assertThat(MemoryGrowth.descriptors()).as("open descriptors").isLessThanOrEqualTo(descriptors);
            int all = WARM_UP + STAGES * PER_STAGE;
            assertThat(cycles.done().get(Kind.REGULAR)).isEqualTo(all * 4 / 5);
            assertThat(cycles.done().values().stream()
                            .mapToInt(Integer::intValue)
                            .sum())
                    .isEqualTo(all);
            assertThat(cycles.done()).hasSize(Kind.values().length);
            report.parameter("cycles", cycles.done());
            report.measurement(Measurement.rate("cycles per second", all * 1e9 / (System.nanoTime() - begin), "1/s"));
        }
        report.attachment("growth", "text/plain", growth.toString());
        assertThat(growth.nativeSlope()).as("%s", growth).isLessThan(MemoryGrowth.NATIVE_LIMIT);
        assertThat(growth.heapSlope()).as("%s", growth).isLessThan(MemoryGrowth.HEAP_LIMIT);
    }
}
