@NullMarked
package io.rdmatest.scenarios.cprogram;

import org.jspecify.annotations.NullMarked;
