/** Scenarios in which what is around the tests fails: set-ups, tear-downs, the clean-up of the run, and the output. */
@NullMarked
package io.rdmatest.report.troubled;

import org.jspecify.annotations.NullMarked;
