/** Compares the results of a run with the results of earlier runs. */
@NullMarked
package io.rdmatest.report.nights;

import org.jspecify.annotations.NullMarked;
