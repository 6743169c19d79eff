/**
 * Tests on the library that loops messages back in user space (src/test/native), and on the interposer above a real device. Both
 * answer as hardware does and soft-RoCE never does. They are stand-ins: what passes here is no evidence for a fabric.
 *
 * <p>{@link io.rdmatest.loopback.LoopbackHostIT} starts a JVM for each class of test cases, in which that library takes the place
 * of libibverbs; {@link io.rdmatest.loopback.InterposerIT} does so with the interposer, where there is a device.
 */
@NullMarked
package io.rdmatest.loopback;

import org.jspecify.annotations.NullMarked;
