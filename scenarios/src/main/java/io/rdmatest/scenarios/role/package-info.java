/**
 * What one side of a program is, and how it runs and fails.
 *
 * <p>A {@link io.rdmatest.scenarios.role.Role} is a record of parameters that runs on one node and returns a record of results.
 * A role does not depend on JUnit or on the place of the other side. It reaches the other side over the fabric and, before
 * there is a connection, through the text messages of its {@link io.rdmatest.scenarios.role.RoleContext}.
 */
@NullMarked
package io.rdmatest.scenarios.role;

import org.jspecify.annotations.NullMarked;
