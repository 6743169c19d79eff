@NullMarked
package io.rdmatest.scenarios.bench;

import org.jspecify.annotations.NullMarked;
