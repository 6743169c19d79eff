package io.rdmatest.scenarios.engine;

/**
 * One side of a scenario.
 *
 * <p>Implementations are records: their components are the parameters, and {@link #run} returns a record of what this
 * side measured and verified. Every wait within {@link #run} has a deadline and ends early when the context says that
 * the scenario was given up.
 *
 * @param <R> the results of this side
 */
@FunctionalInterface
public interface Role<R> {

    /**
     * Runs this side of the scenario to its end and releases everything it created.
     *
     * @param context the device to run on and the way to the other side
     * @return what this side measured and verified
     * @throws io.rdmatest.RdmaException if a call to the RDMA libraries fails
     * @throws PayloadMismatchError if data arrived that is not what was sent
     */
    R run(RoleContext context);
}
