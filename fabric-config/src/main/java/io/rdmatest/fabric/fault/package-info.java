/** Injects faults of the network, a link or a device of a node, on fabrics that allow it, and repairs them. */
@NullMarked
package io.rdmatest.fabric.fault;

import org.jspecify.annotations.NullMarked;
