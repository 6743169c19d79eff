/** Projects that know nothing of this build are built with what it publishes. */
@NullMarked
package io.rdmatest.samples;

import org.jspecify.annotations.NullMarked;
