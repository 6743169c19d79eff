package io.rdmatest.scenarios.interop;

import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.scenarios.cprogram.CProgram;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.Role;
import java.io.IOException;
import java.net.InetAddress;
import java.time.Duration;

/** The environment of a cell. Everything that was started through it ends with the cell, however the cell ends. */
public interface CellContext {

    /** The device that our side uses. */
    FabricDevice device();

    /**
     * Returns an address of our side's node.
     *
     * @param ipv4 true for IPv4, false for a global IPv6 address
     * @throws org.opentest4j.TestAbortedException if it has none: the cell is skipped
     */
    InetAddress ours(boolean ipv4);

    /**
     * Returns an address of the programs' node, which may be ours.
     *
     * @param ipv4 true for IPv4, false for a global IPv6 address
     * @throws org.opentest4j.TestAbortedException if it has none: the cell is skipped
     */
    InetAddress theirs(boolean ipv4);

    /** Returns the address of our side that the fabric names for it. */
    InetAddress ours();

    /** Returns the address of the programs' node that the fabric names for it. */
    InetAddress theirs();

    /** Returns a port that this process has not handed out before, below the ephemeral range; nobody listens on it. */
    int port();

    /** How long either side may take for any one step. */
    Duration step();

    /**
     * Starts a C program on the programs' node. What it prints can be read while it runs.
     *
     * @param program its name, looked for on the {@code PATH}
     * @param arguments its arguments, each as {@link Object#toString} says it
     * @throws org.opentest4j.TestAbortedException if it is not installed: the cell is skipped
     * @throws IOException if it cannot be started
     */
    CProgram start(String program, Object... arguments) throws IOException;

    /**
     * Runs a client of ours against a C server, again and again until the server listens.
     *
     * @param server the server, as started by {@link #start}
     * @param client our side
     * @return what our side measured
     * @throws AssertionError if the server ended, or still did not listen after {@link #step}
     * @throws Exception any other failure of the client
     */
    <R> R connect(CProgram server, Role<R> client) throws Exception;

    /** Where to start servers, senders and receivers of ours. */
    LocalRoles roles();

    /**
     * Adds a note about the cell to the report and to the message of a failure.
     *
     * @param name the name of the note, for example {@code our options}
     * @param value its value
     */
    void note(String name, Object value);
}
