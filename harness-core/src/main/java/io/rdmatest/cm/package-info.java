/**
 * librdmacm as an object model: event channels, communication identifiers, connections and multicast groups (rdma_cm(7)).
 *
 * <p>An {@link io.rdmatest.cm.EventChannel} creates {@link io.rdmatest.cm.CmId}s; what happens to an id arrives as
 * {@link io.rdmatest.cm.CmEvent}s, which are copied and acknowledged before they are handed out, so that no id is ever
 * kept from being destroyed by an event that somebody forgot. Every wait has a deadline.
 */
@NullMarked
package io.rdmatest.cm;

import org.jspecify.annotations.NullMarked;
