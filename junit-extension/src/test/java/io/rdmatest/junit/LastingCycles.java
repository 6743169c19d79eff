package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.rdmatest.Measurement;
import io.rdmatest.junit.ConnectionCycles.Kind;
import java.net.InetAddress;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Connects and disconnects in stages, and looks after each at what is left: in the kernel, of this process, and of its memory. */
final class LastingCycles {

    /** One sample precedes them. Up to as many more follow while memory seems to grow. */
    private static final int STAGES = MemoryGrowth.MOST_SAMPLES - 1;

    /** How many stages' worth of connections warm up: fewer leave the JVM's own memory growing. */
    private static final int WARM_UP = 4;

    private final InetAddress address;
    private final int perStage;

    LastingCycles(InetAddress address, int perStage) {
        this.address = address;
        this.perStage = perStage;
    }

    /**
     * Warms up for as long as four stages take, then runs eight. Up to eight more follow while memory seems to grow. The JVM's
     * own memory settles, but a leak goes on.
     */
    void run(RdmaReport report) throws Exception {
        run(report, null);
    }

    /** The same with a reset of the device in the middle of the fourth of the eight measured stages. */
    void runThroughReset(RdmaReport report, Runnable reset, Runnable recover) throws Exception {
        run(report, cycles -> {
            int lost = cycles.runThroughReset(perStage, reset, recover);
            report.parameter("lost by the reset", lost);
            // Those that ended before it are regular, and some kinds need nothing of the device.
            assertThat(lost).isBetween(perStage / 4, perStage / 2 + ConnectionCycles.AT_ONCE);
            return lost;
        });
    }

    /** Runs a stage, and returns how many cycles it lost. */
    private interface Stage {
        int run(ConnectionCycles cycles) throws Exception;
    }

    private void run(RdmaReport report, @Nullable Stage middle) throws Exception {
        assumeThat(MemoryGrowth.isMeasurable())
                .as("the C library tells what it has allocated")
                .isTrue();
        long begin = System.nanoTime();
        int warmUp = WARM_UP * perStage;
        MemoryGrowth growth = new MemoryGrowth();
        try (ConnectionCycles cycles = new ConnectionCycles(address)) {
            cycles.run(warmUp, () -> {});
            growth.sample(warmUp);
            List<String> handles = MemoryGrowth.rdmaHandles();
            long descriptors = MemoryGrowth.descriptors();
            int lost = 0;
            for (int stage = 1; stage <= STAGES; stage++) {
                if (middle != null && stage == STAGES / 2) {
                    lost = middle.run(cycles);
                } else {
                    cycles.run(perStage, () -> {});
                }
                growth.sample(warmUp + (long) stage * perStage);
            }
            int stages = STAGES;
            while (growth.isAboveLimits() && stages < 2 * STAGES) {
                stages++;
                cycles.run(perStage, () -> {});
                growth.sample(warmUp + (long) stages * perStage);
            }
            int all = warmUp + stages * perStage;
            assertThat(MemoryGrowth.rdmaHandles()).isEqualTo(handles);
            assertThat(MemoryGrowth.descriptors()).as("open descriptors").isLessThanOrEqualTo(descriptors);
            assertThat(cycles.done().get(Kind.REGULAR)).isBetween(all * 4 / 5 - lost, all * 4 / 5);
            assertThat(cycles.done().values().stream()
                            .mapToInt(Integer::intValue)
                            .sum())
                    .isEqualTo(all - lost);
            assertThat(cycles.done()).hasSize(Kind.values().length);
            report.parameter("cycles", cycles.done());
            report.measurement(Measurement.rate("cycles per second", all * 1e9 / (System.nanoTime() - begin), "1/s"));
        }
        report.attachment("growth", "text/plain", growth.toString());
        assertThat(growth.nativeSlope()).as("%s", growth).isLessThan(MemoryGrowth.NATIVE_LIMIT);
        assertThat(growth.heapSlope()).as("%s", growth).isLessThan(MemoryGrowth.HEAP_LIMIT);
    }
}
