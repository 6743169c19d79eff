package io.rdmatest.scenarios.node;

import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.LocalRoles.Pair;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import io.rdmatest.scenarios.role.Role;
import java.time.Duration;

/**
 * Runs the roles of a scenario, each in its {@link Place}.
 *
 * <p>As with {@link LocalRoles}, the first failure cancels the scenario: every other role ends at its next wait, and
 * {@link #close} throws the first failure. A failure on another node is a {@link io.rdmatest.peer.RemoteFailureException}
 * with its cause, the node, the stack trace and a diagnosis. If a node dies or hangs, each of its roles fails with a {@link
 * io.rdmatest.peer.PeerLostException}.
 */
public final class NodeRoles implements AutoCloseable {

    private final LocalRoles roles = new LocalRoles();

    /**
     * Runs the two sides of a scenario until both ended. Their messages go to each other.
     *
     * @param serverPlace where the server runs
     * @param server the server, which starts first
     * @param clientPlace where the client runs; may be the same place
     * @param client the client
     * @param timeout the limit for both together
     * @param <A> the results of the server
     * @param <B> the results of the client
     * @return the results of both
     * @throws RuntimeException the first failure of a side
     */
    public static <A, B> Pair<A, B> runPair(
            Place serverPlace, Role<A> server, Place clientPlace, Role<B> client, Duration timeout) {
        return LocalRoles.runPair(
                serverPlace.device(),
                serverPlace.placed("server", server, clientPlace),
                clientPlace.device(),
                clientPlace.placed("client", client, serverPlace),
                timeout);
    }

    /**
     * Starts a role that exchanges messages with the caller.
     *
     * @param name for thread names and messages, such as {@code receiver-1}
     * @param place where it runs
     * @param role the role; in a place outside of this JVM it must be registered
     * @param <R> its results
     * @return the running role
     */
    public <R> Running<R> start(String name, Place place, Role<R> role) {
        return roles.start(name, place.device(), place.placed(name, role, null));
    }

    /**
     * Starts a role whose other side is in another place. The role's own address options take precedence.
     *
     * @param name for thread names and messages, such as {@code client-1}
     * @param place where it runs
     * @param role the role; in a place outside of this JVM it must be registered
     * @param other where the other side runs; may be the same place
     * @param <R> its results
     * @return the running role
     */
    public <R> Running<R> start(String name, Place place, Role<R> role, Place other) {
        return roles.start(name, place.device(), place.placed(name, role, other));
    }

    /**
     * Ends and joins every role. The places stay open.
     *
     * @throws RuntimeException the first failure of a role, with the others suppressed
     */
    @Override
    public void close() {
        roles.close();
    }
}
