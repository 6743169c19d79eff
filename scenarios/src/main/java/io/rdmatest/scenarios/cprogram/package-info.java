/** C programs on this host or another node: how they are started and ended, and what they print. */
@NullMarked
package io.rdmatest.scenarios.cprogram;

import org.jspecify.annotations.NullMarked;
