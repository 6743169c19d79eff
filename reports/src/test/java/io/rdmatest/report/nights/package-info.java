/** Tests of what is made of the results of runs. */
@NullMarked
package io.rdmatest.report.nights;

import org.jspecify.annotations.NullMarked;
