/** Conditions: annotations that say where a test makes sense, and skip it with a reason where it does not. */
@NullMarked
package io.rdmatest.junit.condition;

import org.jspecify.annotations.NullMarked;
