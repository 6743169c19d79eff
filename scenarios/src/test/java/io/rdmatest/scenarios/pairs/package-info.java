@NullMarked
package io.rdmatest.scenarios.pairs;

import org.jspecify.annotations.NullMarked;
