/** rdmatest's own stream of RDMA WRITEs between two rings: its options and both sides. */
@NullMarked
package io.rdmatest.scenarios.stream;

import org.jspecify.annotations.NullMarked;
