/** Connects queue pairs: by rdma_cm, and without a connection manager. */
@NullMarked
package io.rdmatest.connect;

import org.jspecify.annotations.NullMarked;
