/** Tests of the scripts that bring a soft-RoCE machine. */
@NullMarked
package io.rdmatest.fabric.vm;

import org.jspecify.annotations.NullMarked;
