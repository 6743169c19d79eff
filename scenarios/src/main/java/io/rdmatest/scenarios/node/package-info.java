/** The places of a scenario, the agent on another node, and the registry of roles that run there. */
@NullMarked
package io.rdmatest.scenarios.node;

import org.jspecify.annotations.NullMarked;
