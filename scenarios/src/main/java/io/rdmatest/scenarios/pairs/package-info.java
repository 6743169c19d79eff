/** All ordered pairs of a fabric's nodes: the order of the measurements, and the judgement of the results. */
@NullMarked
package io.rdmatest.scenarios.pairs;

import org.jspecify.annotations.NullMarked;
