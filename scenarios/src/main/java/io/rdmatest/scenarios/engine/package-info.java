/**
 * The parts that programs share: roles, links and pools, polling, payloads, deadlines and failures.
 *
 * <p>A {@link io.rdmatest.scenarios.engine.Role} is a record of parameters that runs on one node and returns a record
 * of results. A role does not depend on JUnit or on the place of the other side. It reaches the other side over the
 * fabric and, before there is a connection, through the text messages of its {@link
 * io.rdmatest.scenarios.engine.RoleContext}. This package does not depend on any program.
 */
@NullMarked
package io.rdmatest.scenarios.engine;

import org.jspecify.annotations.NullMarked;
