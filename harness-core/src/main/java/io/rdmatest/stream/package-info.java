/**
 * A byte stream over RDMA WRITE with credits, with the semantics and version 2 of the wire format of fi_rstream(7), a man page
 * of libfabric 1.x.
 *
 * <p>{@link io.rdmatest.stream.StreamListener} and {@link io.rdmatest.stream.StreamEndpoint} are the passive and the
 * active endpoint, {@link io.rdmatest.stream.StreamEventQueue} reports the events of connections, and {@link
 * io.rdmatest.stream.StreamChannel} is the same stream as a {@link java.nio.channels.ByteChannel}.
 */
@NullMarked
package io.rdmatest.stream;

import org.jspecify.annotations.NullMarked;
