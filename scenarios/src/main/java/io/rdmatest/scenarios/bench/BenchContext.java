package io.rdmatest.scenarios.bench;

import io.rdmatest.fabric.FabricDevice;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What the rows of a bench are measured with.
 *
 * @param device the device that both sides use
 * @param step how long either side may take for any one run
 * @param scale by which the repetitions of a run are multiplied, more than 0
 * @param processors what the ends of rows that poll without pause are bound to; null to leave it to the scheduler
 * @param cancelled whether the bench is to end
 */
public record BenchContext(
        FabricDevice device,
        Duration step,
        double scale,
        @Nullable Processors processors,
        BooleanSupplier cancelled) {

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

    /** Returns what the server's end is bound to where it polls without pause; null if to nothing. */
    @Nullable
    Integer serverProcessor() {
        return processors == null ? null : processors.server();
    }

    /** Returns what the client's end is bound to where it polls without pause; null if to nothing. */
    @Nullable
    Integer clientProcessor() {
        return processors == null ? null : processors.client();
    }

    /** Returns what a row says of them. */
    String boundTo() {
        return processors == null
                ? "none in particular"
                : "server " + processors.server() + ", client " + processors.client();
    }

    String address() {
        return device.address().getHostAddress();
    }
}
