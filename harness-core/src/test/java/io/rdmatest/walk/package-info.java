/** A random walk over the public API that holds a model against the device. */
@NullMarked
package io.rdmatest.walk;

import org.jspecify.annotations.NullMarked;
