@NullMarked
package io.rdmatest.peer;

import org.jspecify.annotations.NullMarked;
