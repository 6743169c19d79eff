/** Stream sockets over RDMA: the r* calls of librdmacm, rsocket(7). */
@NullMarked
package io.rdmatest.rsocket;

import org.jspecify.annotations.NullMarked;
