@NullMarked
package io.rdmatest.junit.condition;

import org.jspecify.annotations.NullMarked;
