@NullMarked
package io.rdmatest.scenarios.interop;

import org.jspecify.annotations.NullMarked;
