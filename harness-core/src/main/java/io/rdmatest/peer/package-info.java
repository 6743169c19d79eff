/**
 * Roles that run in another process: a launched JVM, the agent, speaks JSON lines over its standard input and output.
 *
 * <p>The side that launches is a {@link io.rdmatest.peer.Peer}, the launched one an {@link io.rdmatest.peer.Agent}. No port is
 * opened: whoever may start the command may talk to the JVM that it starts, and nobody else.
 */
@NullMarked
package io.rdmatest.peer;

import org.jspecify.annotations.NullMarked;
