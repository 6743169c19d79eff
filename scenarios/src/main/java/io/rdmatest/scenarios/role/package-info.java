/**
 * The roles that scenarios are made of: records of parameters that run on one node and return a record of results.
 *
 * <p>A role knows nothing of JUnit and nothing of where its counterpart is. It reaches the other side over the fabric,
 * and, before there is a connection, through the text messages of its {@link io.rdmatest.scenarios.role.RoleContext}.
 */
@NullMarked
package io.rdmatest.scenarios.role;

import org.jspecify.annotations.NullMarked;
