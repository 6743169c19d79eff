package io.rdmatest.scenarios.pairs;

import io.rdmatest.Cause;
import io.rdmatest.Deadline;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.scenarios.engine.Spin;
import io.rdmatest.scenarios.role.RoleContext;
import java.time.Duration;

/**
 * Paces a loop after each of its turns. Ends the loop with the scenario, even if there is always work. Yields the processor while
 * nothing happens, and fails if nothing happens for too long.
 */
final class Patience {

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
     * @param look throws an exception if the awaited event can't happen any more; called now and then while nothing happens
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
        if (++turns % Spin.LOOK == 0) {
            context.checkCancelled();
        }
        if (worked) {
            idle = 0;
            last = System.nanoTime();
            return;
        }
        if (Spin.isTimeToLook(++idle)) {
            look.run();
            if (System.nanoTime() - last >= timeout.toNanos()) {
                throw new RdmaTimeoutException(
                        Cause.TIMEOUT,
                        "completion of a request of the stream",
                        Deadline.of(last + timeout.toNanos(), timeout),
                        outstanding + " lists of requests are on their way");
            }
        }
    }
}
