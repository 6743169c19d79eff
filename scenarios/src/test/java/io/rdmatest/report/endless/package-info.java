/** A scenario that does not end by itself while anybody waits for that. */
@NullMarked
package io.rdmatest.report.endless;

import org.jspecify.annotations.NullMarked;
