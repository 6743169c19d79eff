/**
 * Our programs measured against the C programs of rdma-core and perftest on the same host, in turns.
 *
 * <p>A {@link io.rdmatest.scenarios.bench.BenchRow} is one comparison with a target; {@link io.rdmatest.scenarios.bench.Bench}
 * measures it in pairs and judges the median of the ratios. What was measured, in which unit and with which parameters on both
 * sides, is in a {@link io.rdmatest.scenarios.bench.RowResult}.
 */
@NullMarked
package io.rdmatest.scenarios.bench;

import org.jspecify.annotations.NullMarked;
