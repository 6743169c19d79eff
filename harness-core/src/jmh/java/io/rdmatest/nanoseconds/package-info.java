/**
 * Measures what the harness costs beside a loop in C, over the library that loops messages back in user space. It is never evidence
 * for a fabric.
 */
@NullMarked
package io.rdmatest.nanoseconds;

import org.jspecify.annotations.NullMarked;
