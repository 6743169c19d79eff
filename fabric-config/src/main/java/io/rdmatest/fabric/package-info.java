/** Fabrics: the nodes and devices that tests run on, read from YAML and resolved on this host. */
@NullMarked
package io.rdmatest.fabric;

import org.jspecify.annotations.NullMarked;
