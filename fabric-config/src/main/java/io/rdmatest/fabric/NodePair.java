package io.rdmatest.fabric;

/**
 * The nodes of a server and a client; may be the same node.
 *
 * @param server the server's node
 * @param client the client's node
 */
public record NodePair(Node server, Node client) {}
