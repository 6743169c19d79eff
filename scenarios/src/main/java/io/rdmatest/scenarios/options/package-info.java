/** The options that programs share: how a line of options is read and written, and what addresses in it mean. */
@NullMarked
package io.rdmatest.scenarios.options;

import org.jspecify.annotations.NullMarked;
