@NullMarked
package io.rdmatest.scenarios.cli;

import org.jspecify.annotations.NullMarked;
