package io.rdmatest.peer;

/**
 * Describes the origin of a failure on another node. Each rebuilt failure has it suppressed, with the stack trace and
 * the diagnosis of that node.
 */
public final class RemoteOrigin extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final String node;
    private final String stack;
    private final String diagnosis;

    RemoteOrigin(String node, String stack, String diagnosis) {
        super(
                "on " + node + System.lineSeparator() + stack.strip()
                        + (diagnosis.isBlank() ? "" : System.lineSeparator() + diagnosis.strip()),
                null,
                false,
                false);
        this.node = node;
        this.stack = stack;
        this.diagnosis = diagnosis;
    }

    /** Returns the node, with its host and process. */
    public String node() {
        return node;
    }

    /** Returns the printed stack trace of the node. */
    public String stack() {
        return stack;
    }

    /** Returns the node's diagnosis after the failure, and its last log lines; may be empty. */
    public String diagnosis() {
        return diagnosis;
    }
}
