package io.rdmatest.fabric;

/**
 * The nodes that the two sides of something are on; may be one and the same.
 *
 * @param server where the server is
 * @param client where the client is
 */
public record NodePair(Node server, Node client) {}
