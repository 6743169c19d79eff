/**
 * The scenarios: annotated tests of connection set-up, ping-pong, multicast and stream transfer.
 *
 * <p>Every class whose name ends in {@code Scenarios} is a test class that lives in the main jar, so that another
 * project can run it with Surefire's {@code dependenciesToScan}. What a scenario does on the fabric is in the roles of the
 * programs, each in a package of its own such as {@link io.rdmatest.scenarios.rping}. They share
 * {@link io.rdmatest.scenarios.engine}, and run where {@link io.rdmatest.scenarios.node} places them.
 */
@NullMarked
package io.rdmatest.scenarios;

import org.jspecify.annotations.NullMarked;
