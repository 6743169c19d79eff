package io.rdmatest.scenarios.role;

import io.rdmatest.scenarios.engine.PayloadMismatchError;

/**
 * One side of a scenario.
 *
 * <p>Implementations are records: their components are the parameters, and {@link #run} returns a record of what this
 * side measured and verified. Every wait within {@link #run} has a deadline and ends early when the scenario is
 * cancelled.
 *
 * @param <R> the results of this side
 */
@FunctionalInterface
public interface Role<R> {

    /**
     * Runs this side of the scenario to its end and releases everything it created.
     *
     * @param context the device and the messages to and from the other side
     * @return what this side measured and verified
     * @throws io.rdmatest.RdmaException if a call to the RDMA libraries fails
     * @throws PayloadMismatchError if received data differs from the sent data
     */
    R run(RoleContext context);
}
