/** Tests that run as code for 64-bit Arm. */
@NullMarked
package io.rdmatest.arm64;

import org.jspecify.annotations.NullMarked;
