/**
 * RDMA tests as JUnit methods: {@link io.rdmatest.junit.RdmaTest @RdmaTest}, the resources it hands to a test, and the
 * rules by which a test passes, fails or is skipped.
 */
@NullMarked
package io.rdmatest.junit;

import org.jspecify.annotations.NullMarked;
