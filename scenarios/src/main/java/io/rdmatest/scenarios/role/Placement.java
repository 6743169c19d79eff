package io.rdmatest.scenarios.role;

import io.rdmatest.Deadline;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.function.BooleanSupplier;

/** Waits for the placement of all bytes, so that late data does not count as wrong data. */
public final class Placement {

    private static final int LOOK = 256;

    private Placement() {}

    /**
     * Reads memory repeatedly until it has the expected content.
     *
     * @param intact returns whether it has; each call reads the memory again
     * @param ended returns whether the peer ended the connection: then all its data is placed
     * @param context ends the wait if the scenario is cancelled
     * @param limit the longest wait
     * @return whether the memory has the expected content
     */
    public static boolean await(BooleanSupplier intact, BooleanSupplier ended, RoleContext context, Duration limit) {
        long deadline = Deadline.end(limit);
        for (int reads = 1; !intact.getAsBoolean(); reads++) {
            boolean look = reads % LOOK == 0;
            if (look && (ended.getAsBoolean() || context.isCancelled()) || Deadline.isOver(deadline)) {
                return intact.getAsBoolean();
            }
            // A software device needs the processor, and the compiler must not keep bytes of an earlier read.
            Thread.yield();
            VarHandle.acquireFence();
        }
        return true;
    }
}
