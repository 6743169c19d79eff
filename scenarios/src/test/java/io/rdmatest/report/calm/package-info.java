/** Scenarios of which there is nothing to tell but that they pass. */
@NullMarked
package io.rdmatest.report.calm;

import org.jspecify.annotations.NullMarked;
