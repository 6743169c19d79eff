/**
 * Our programs measured against the C programs of rdma-core and perftest on the same host, in turns.
 *
 * <p>A {@link io.rdmatest.bench.BenchRow} is one comparison with a target; {@link io.rdmatest.bench.Bench}
 * measures it in pairs and judges the median of the ratios. What was measured, in which unit and with which parameters on both
 * sides, is in a {@link io.rdmatest.bench.RowResult}.
 */
@NullMarked
package io.rdmatest.bench;

import org.jspecify.annotations.NullMarked;
