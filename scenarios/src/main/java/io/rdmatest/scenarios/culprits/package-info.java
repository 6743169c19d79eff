/** Measured pairs as a file, and what explains the bad ones: which node, port, block or path. */
@NullMarked
package io.rdmatest.scenarios.culprits;

import org.jspecify.annotations.NullMarked;
