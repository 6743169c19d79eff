/**
 * Parameterised tests: {@link io.rdmatest.junit.params.RdmaParameterizedTest @RdmaParameterizedTest}, and the sources that give
 * their parameters values.
 */
@NullMarked
package io.rdmatest.junit.params;

import org.jspecify.annotations.NullMarked;
