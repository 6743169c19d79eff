/**
 * librdmacm as an object model: event channels, communication identifiers, connections and multicast groups (rdma_cm(7)).
 *
 * <p>An {@link io.rdmatest.cm.EventChannel} creates {@link io.rdmatest.cm.CmId}s. The channel copies and acknowledges
 * each {@link io.rdmatest.cm.CmEvent} at once, so a forgotten event never blocks the destruction of an id. Every wait
 * has a deadline.
 */
@NullMarked
package io.rdmatest.cm;

import org.jspecify.annotations.NullMarked;
