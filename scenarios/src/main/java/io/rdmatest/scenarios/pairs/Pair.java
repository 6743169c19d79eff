package io.rdmatest.scenarios.pairs;

/**
 * An ordered pair of nodes, by their numbers from 0.
 *
 * @param server the node of the server's side
 * @param client the node of the client's side, another one
 */
public record Pair(int server, int client) {

    Pair swapped() {
        return new Pair(client, server);
    }
}
