/** The start of the scenarios in a JVM of their own: which of them are run, and in which order. */
@NullMarked
package io.rdmatest.scenarios.runner;

import org.jspecify.annotations.NullMarked;
