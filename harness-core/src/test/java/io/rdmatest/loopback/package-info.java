/**
 * Tests on the library that loops messages back in user space (src/test/native). It answers as hardware does and soft-RoCE never
 * does. It is a stand-in: what passes here is no evidence for a fabric.
 *
 * <p>{@link io.rdmatest.loopback.LoopbackHostIT} starts a JVM for each class of test cases, in which that library takes the place
 * of libibverbs.
 */
@NullMarked
package io.rdmatest.loopback;

import org.jspecify.annotations.NullMarked;
