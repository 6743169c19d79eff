package io.rdmatest.bench;

import io.rdmatest.fabric.FabricDevice;
import java.time.Duration;
import java.util.function.BooleanSupplier;

/**
 * What the rows of a bench are measured with.
 *
 * @param device the device that both sides use
 * @param step how long either side may take for any one run
 * @param scale by which the repetitions of a run are multiplied, more than 0
 * @param processors what the ends of rows that poll without pause are bound to
 * @param cancelled whether the bench is to end
 */
record BenchContext(
        FabricDevice device, Duration step, double scale, Processors processors, BooleanSupplier cancelled) {

    /** Checks the scale. */
    public BenchContext {
        if (!(scale > 0) || scale > 1000) {
            throw new IllegalArgumentException("The scale is more than 0 and at most 1000, not " + scale);
        }
    }

    /** Returns a number of repetitions, scaled. */
    int scaled(int repetitions) {
        return (int) Math.clamp(Math.round(repetitions * scale), 5, 100_000_000);
    }

    String address() {
        return device.address().getHostAddress();
    }
}
