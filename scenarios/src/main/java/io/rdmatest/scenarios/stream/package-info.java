/** The stream of RDMA WRITEs between two rings, which rdmatest has of its own: its options and both of its sides. */
@NullMarked
package io.rdmatest.scenarios.stream;

import org.jspecify.annotations.NullMarked;
