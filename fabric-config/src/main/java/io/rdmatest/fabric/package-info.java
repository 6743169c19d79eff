/** What a fabric is: the nodes and devices that tests run on, read from YAML, found on this host. */
@NullMarked
package io.rdmatest.fabric;

import org.jspecify.annotations.NullMarked;
