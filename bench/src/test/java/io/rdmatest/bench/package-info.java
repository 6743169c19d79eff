@NullMarked
package io.rdmatest.bench;

import org.jspecify.annotations.NullMarked;
