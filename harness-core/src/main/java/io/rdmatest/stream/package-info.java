/**
 * A byte stream over RDMA WRITE with credits, with the semantics and the wire format of libfabric's fi_rstream(7),
 * version 2.
 *
 * <p>{@link io.rdmatest.stream.StreamListener} and {@link io.rdmatest.stream.StreamEndpoint} are the passive and the
 * active endpoint, {@link io.rdmatest.stream.StreamEventQueue} reports the events of connections, and {@link
 * io.rdmatest.stream.StreamChannel} is the same stream as a {@link java.nio.channels.ByteChannel}.
 */
@NullMarked
package io.rdmatest.stream;

import org.jspecify.annotations.NullMarked;
