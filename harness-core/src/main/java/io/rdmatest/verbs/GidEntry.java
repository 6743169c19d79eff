package io.rdmatest.verbs;

/**
 * One entry of a port's GID table (ibv_query_gid_table(3)).
 *
 * @param gid the GID
 * @param index its index in the table, from 0
 * @param port the port, from 1
 * @param type what it stands for
 * @param interfaceIndex the index of the network interface that it belongs to; 0 for InfiniBand
 */
public record GidEntry(Gid gid, int index, int port, GidType type, int interfaceIndex) {}
