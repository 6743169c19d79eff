package io.rdmatest.junit;

import io.rdmatest.fabric.FabricDevice;
import org.junit.jupiter.api.Tag;

/**
 * Six thousand connections leave nothing behind: no object in the kernel, no descriptor, no mapping of a queue, no block of
 * native memory and no Java object. That the measurement of memory can fail is proven by {@link MemoryGrowthTests}, for the
 * smallest block and the smallest object.
 */
@Tag("soak")
class CyclesIT {

    private static final int PER_STAGE = 500;

    @ExclusiveDevice
    @RdmaTest(timeout = "20 min")
    void leaveNothingBehind(FabricDevice device, RdmaReport report) throws Exception {
        new LastingCycles(device.address(), PER_STAGE).run(report);
    }
}
