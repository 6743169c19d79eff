/** Breaks the network, a link or a device of a node on purpose, on fabrics that allow it, and makes it good again. */
@NullMarked
package io.rdmatest.fabric.fault;

import org.jspecify.annotations.NullMarked;
