/**
 * The scenarios: annotated tests of connection set-up, ping-pong, multicast and stream transfer.
 *
 * <p>Every class whose name ends in {@code Scenarios} is a test class that lives in the main jar, so that another
 * project can run it with Surefire's {@code dependenciesToScan}. What a scenario does on the fabric is in the roles of
 * {@link io.rdmatest.scenarios.role}.
 */
@NullMarked
package io.rdmatest.scenarios;

import org.jspecify.annotations.NullMarked;
