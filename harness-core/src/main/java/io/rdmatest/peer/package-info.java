/**
 * Roles that run in another process. The launched JVM, the agent, exchanges lines of JSON over its standard input and
 * output.
 *
 * <p>The launching side is a {@link io.rdmatest.peer.Peer}, the launched one an {@link io.rdmatest.peer.Agent}. No port
 * is opened: only the user who starts the command can talk to the agent.
 *
 * <p>The package needs {@code jackson-databind}, which is an optional dependency of this artifact.
 */
@NullMarked
package io.rdmatest.peer;

import org.jspecify.annotations.NullMarked;
