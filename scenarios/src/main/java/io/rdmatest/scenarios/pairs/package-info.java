/** All ordered pairs of a fabric's nodes: in which order they are measured, and what is made of the results. */
@NullMarked
package io.rdmatest.scenarios.pairs;

import org.jspecify.annotations.NullMarked;
