/**
 * What programs share: roles and where they run, links and pools, polling, payloads, deadlines and failures.
 *
 * <p>A {@link io.rdmatest.scenarios.engine.Role} is a record of parameters that runs on one node and returns a record of
 * results. A role knows nothing of JUnit and nothing of where its counterpart is. It reaches the other side over the fabric,
 * and, before there is a connection, through the text messages of its {@link io.rdmatest.scenarios.engine.RoleContext}. This
 * package knows no program.
 */
@NullMarked
package io.rdmatest.scenarios.engine;

import org.jspecify.annotations.NullMarked;
