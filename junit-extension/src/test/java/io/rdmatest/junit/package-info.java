@NullMarked
package io.rdmatest.junit;

import org.jspecify.annotations.NullMarked;
