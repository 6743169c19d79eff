package io.rdmatest.scenarios;

import io.rdmatest.scenarios.node.NodeRoles;
import io.rdmatest.scenarios.node.Place;
import io.rdmatest.scenarios.role.LocalRoles.Pair;
import io.rdmatest.scenarios.role.Role;
import java.time.Duration;

/**
 * Where the sides of a scenario run; ask for it as a parameter of a test.
 *
 * <p>On a fabric of one node both are in this JVM. On one of several, the client is on this host and the server on the first
 * other node, unless {@value #SERVER} and {@value #CLIENT} name them. Senders of multicast are where clients are, and their
 * receivers where servers are.
 *
 * @param server the place of servers
 * @param client the place of clients
 * @param here this JVM, with the device of the run
 */
public record Stage(Place server, Place client, Place here) {

    /** The name of the node of the fabric that servers run on. */
    public static final String SERVER = "rdma.scenario.server";

    /** The name of the node of the fabric that clients run on. */
    public static final String CLIENT = "rdma.scenario.client";

    /** The path of the agent's jar on this host, where it is not beside this project's classes; a system property. */
    public static final String AGENT = "rdma.agent";

    /** Returns a place that is not this JVM's device, if one side has one; else this JVM. */
    public Place elsewhere() {
        return server == here ? client : server;
    }

    @Override
    public String toString() {
        return describe(server.name(), client.name());
    }

    static String describe(String server, String client) {
        return "server on " + server + ", client on " + client;
    }

    /** Returns the stage on which all sides are where clients are: what is to stay on one node. */
    public Stage ofClient() {
        return new Stage(client, client, here);
    }

    /**
     * Runs both sides until both ended.
     *
     * @param serverRole started first
     * @param clientRole the other side
     * @param timeout how long both may take together
     * @param <A> the results of the server
     * @param <B> the results of the client
     * @return the results of both
     * @throws RuntimeException the failure of the side that failed first
     */
    public <A, B> Pair<A, B> runPair(Role<A> serverRole, Role<B> clientRole, Duration timeout) {
        return NodeRoles.runPair(server, serverRole, client, clientRole, timeout);
    }
}
