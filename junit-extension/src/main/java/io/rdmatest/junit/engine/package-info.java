/**
 * The machinery behind the annotations: what a test is given and for how long, how it is bounded in time, what its failure
 * means, what it left behind. It is not part of the API, which finds it as the service {@link io.rdmatest.junit.RdmaEngine}.
 */
@NullMarked
package io.rdmatest.junit.engine;

import org.jspecify.annotations.NullMarked;
