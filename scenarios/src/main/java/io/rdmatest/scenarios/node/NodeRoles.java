package io.rdmatest.scenarios.node;

import io.rdmatest.scenarios.engine.LocalRoles;
import io.rdmatest.scenarios.engine.LocalRoles.Pair;
import io.rdmatest.scenarios.engine.LocalRoles.Running;
import io.rdmatest.scenarios.engine.Role;
import java.time.Duration;

/**
 * Runs the roles of a scenario wherever they are to run: each in a {@link Place}.
 *
 * <p>It is as with {@link LocalRoles}: the first role that fails decides, every other ends at its next wait, and {@link #close}
 * throws that first failure. One of a role on another node has the type it had there, and tells by its suppressed
 * {@link io.rdmatest.peer.RemoteOrigin} where it came from and what that node looked like. A node that dies or hangs is a
 * {@link io.rdmatest.peer.PeerLostException} of each of its roles.
 */
public final class NodeRoles implements AutoCloseable {

    private final LocalRoles roles = new LocalRoles();

    /**
     * Runs the two sides of a scenario, their messages going to each other, until both ended.
     *
     * @param serverPlace where the server runs
     * @param server started first
     * @param clientPlace where the client runs; may be the same place
     * @param client the other side
     * @param timeout how long both may take together
     * @param <A> the results of the server
     * @param <B> the results of the client
     * @return the results of both
     * @throws RuntimeException the failure of the side that failed first
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
     * Starts a role whose messages go to and come from the caller.
     *
     * @param name for thread names and messages, such as {@code receiver-1}
     * @param place where it runs
     * @param role the role; for a place that is not this JVM, one that its agent knows
     * @param <R> its results
     * @return the running role
     */
    public <R> Running<R> start(String name, Place place, Role<R> role) {
        return roles.start(name, place.device(), place.placed(name, role, null));
    }

    /**
     * Starts a role that finds its other side in another place, unless its options say where that is.
     *
     * @param name for thread names and messages, such as {@code client-1}
     * @param place where it runs
     * @param role the role; for a place that is not this JVM, one that its agent knows
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
     * @throws RuntimeException the failure of the role that failed first, the others suppressed
     */
    @Override
    public void close() {
        roles.close();
    }
}
