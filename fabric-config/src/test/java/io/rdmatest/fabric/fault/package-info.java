/** Tests of faults on purpose, as far as they need neither a device nor root. */
@NullMarked
package io.rdmatest.fabric.fault;

import org.jspecify.annotations.NullMarked;
