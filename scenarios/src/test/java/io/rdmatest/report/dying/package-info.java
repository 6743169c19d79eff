/** Scenarios in which the JVM dies: twice, and is to go on after each time. */
@NullMarked
package io.rdmatest.report.dying;

import org.jspecify.annotations.NullMarked;
