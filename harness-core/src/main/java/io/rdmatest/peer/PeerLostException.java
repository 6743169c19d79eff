package io.rdmatest.peer;

import io.rdmatest.Cause;
import java.util.List;
import java.util.OptionalInt;

/**
 * Signals that a node's agent did not start or is lost; the message has node, command, exit status and last log lines.
 */
public final class PeerLostException extends RuntimeException implements Cause.Carrier {

    private static final long serialVersionUID = 1L;

    private static final int SHOWN = 20;

    /** How a node was lost. */
    public enum Reason {
        /** Its command can't be started on this host. */
        NOT_STARTED,
        /** Its process ended, or closed the channel. */
        ENDED,
        /** It was silent for longer than its patience. */
        SILENT,
        /** It sent something that is not a valid message of an agent. */
        GARBAGE,
        /** It speaks another version of the messages. */
        VERSION
    }

    private final Reason reason;
    private final String node;
    private final transient List<String> command;
    private final transient OptionalInt exitStatus;
    private final transient List<String> log;

    PeerLostException(
            Reason reason, String node, List<String> command, OptionalInt exitStatus, List<String> log, String what) {
        super("node " + node + " (" + String.join(" ", command) + ") " + what
                + (log.isEmpty()
                        ? "; it logged nothing"
                        : "; its last log lines:" + System.lineSeparator() + "  "
                                + String.join(
                                        System.lineSeparator() + "  ",
                                        log.subList(Math.max(0, log.size() - SHOWN), log.size()))));
        this.reason = reason;
        this.node = node;
        this.command = List.copyOf(command);
        this.exitStatus = exitStatus;
        this.log = List.copyOf(log);
    }

    private PeerLostException(PeerLostException first) {
        super(first.getMessage(), first);
        this.reason = first.reason;
        this.node = first.node;
        this.command = first.command;
        this.exitStatus = first.exitStatus;
        this.log = first.log;
    }

    /** Makes a copy for the calling thread, with this one as its cause: several roles share one loss. */
    PeerLostException again() {
        return new PeerLostException(this);
    }

    @Override
    public Cause rdmaCause() {
        return Cause.NODE_LOST;
    }

    /** Returns how the node was lost. */
    public Reason reason() {
        return reason;
    }

    /** Returns the node's name. */
    public String node() {
        return node;
    }

    /** Returns the command that was to start the agent. */
    public List<String> command() {
        return command;
    }

    /** Returns the exit status of the command, 128 or more for a signal; empty if it did not end by itself. */
    public OptionalInt exitStatus() {
        return exitStatus;
    }

    /** Returns the last lines of the node's standard error and of its output before the first message; may be empty. */
    public List<String> log() {
        return log;
    }
}
