@NullMarked
package io.rdmatest.junit.fabric;

import org.jspecify.annotations.NullMarked;
