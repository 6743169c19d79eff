/** Scenarios that measure something else each time that they are run. */
@NullMarked
package io.rdmatest.report.unsteady;

import org.jspecify.annotations.NullMarked;
