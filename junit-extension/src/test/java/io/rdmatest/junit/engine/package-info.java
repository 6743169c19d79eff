@NullMarked
package io.rdmatest.junit.engine;

import org.jspecify.annotations.NullMarked;
