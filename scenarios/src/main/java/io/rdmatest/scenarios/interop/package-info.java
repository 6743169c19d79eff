/**
 * The roles of this project against the C programs of rdma-core on the same host: rping(1), ucmatose(1), udaddy(1), mckey(1)
 * and rstream(1).
 *
 * <p>A {@link io.rdmatest.scenarios.interop.Cell} is one run of one program against one role with one set of options. The
 * cells make up a matrix of program, role and options, whose options are drawn anew for every run from a seed that the run
 * prints.
 */
@NullMarked
package io.rdmatest.scenarios.interop;

import org.jspecify.annotations.NullMarked;
