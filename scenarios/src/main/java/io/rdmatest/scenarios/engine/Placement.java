package io.rdmatest.scenarios.engine;

import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.function.BooleanSupplier;

/** Tells data that is wrong from data that is not all there yet. */
final class Placement {

    private static final int LOOK = 256;

    private Placement() {}

    /**
     * Reads memory again until it is as it has to be.
     *
     * @param intact tells whether it is; memory is read anew by each call
     * @param ended tells whether the peer ended the connection: what it sent was placed before
     * @param context ends the wait if the scenario is given up and the memory is not as it has to be
     * @param limit how long at most
     * @return whether the memory is as it has to be
     */
    static boolean await(BooleanSupplier intact, BooleanSupplier ended, RoleContext context, Duration limit) {
        long deadline = Waits.deadline(limit);
        for (int reads = 1; !intact.getAsBoolean(); reads++) {
            boolean look = reads % LOOK == 0;
            if (look && (ended.getAsBoolean() || context.isCancelled()) || System.nanoTime() - deadline >= 0) {
                return intact.getAsBoolean();
            }
            // The device, where it is software, needs the processor; and no byte that was read may be kept from the
            // next look.
            Thread.yield();
            VarHandle.acquireFence();
        }
        return true;
    }
}
