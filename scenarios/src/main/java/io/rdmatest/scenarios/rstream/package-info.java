/** rstream: its options, and both of its sides over rsockets or TCP. */
@NullMarked
package io.rdmatest.scenarios.rstream;

import org.jspecify.annotations.NullMarked;
