package io.rdmatest.scenarios.pairs;

import io.rdmatest.Cause;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.scenarios.role.RoleContext;
import java.time.Duration;

/**
 * What a loop does after each of its turns. It ends with the scenario, also if there is always something to do. It spares the
 * processor as long as nothing happens, and ends if nothing happens for too long.
 */
final class Patience {

    /** So many turns without work pass before the processor is spared. */
    private static final int SPINS = 32;

    /** After so many turns the loop looks at what costs more than a turn. */
    static final int LOOK = 256;

    private final RoleContext context;
    private final Duration timeout;
    private final Runnable look;
    private int turns;
    private int idle;
    private long last = System.nanoTime();

    /**
     * Begins a loop.
     *
     * @param context ends the loop if the scenario is cancelled
     * @param timeout how long nothing may happen
     * @param look throws if what the loop waits for cannot happen any more; run now and then while nothing happens
     */
    Patience(RoleContext context, Duration timeout, Runnable look) {
        this.context = context;
        this.timeout = timeout;
        this.look = look;
    }

    /**
     * Ends a turn.
     *
     * @param worked whether anything happened in it
     * @param outstanding how many lists of requests are on their way, for the text of a timeout
     * @throws io.rdmatest.scenarios.role.RoleCancelledException if the scenario is cancelled
     * @throws RdmaTimeoutException if nothing happened for too long
     */
    void after(boolean worked, long outstanding) {
        turns++;
        if (turns % LOOK == 0) {
            context.checkCancelled();
        }
        if (worked) {
            idle = 0;
            last = System.nanoTime();
            return;
        }
        idle++;
        if (idle < SPINS) {
            return;
        }
        // Where the device is software, the processor that spins is the one it needs.
        Thread.yield();
        if (idle % LOOK == 0) {
            look.run();
            if (System.nanoTime() - last >= timeout.toNanos()) {
                throw new RdmaTimeoutException(
                        Cause.TIMEOUT,
                        "completion of a request of the stream",
                        timeout,
                        outstanding + " lists of requests are on their way");
            }
        }
    }
}
