package io.rdmatest.peer;

/**
 * Tells where a failure came from: suppressed in every failure that was rebuilt from another node's, with the stack trace and
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

    /** Returns the stack trace on the node, as it is printed. */
    public String stack() {
        return stack;
    }

    /** Returns what the node told about itself after the failure, and its last log lines; may be empty. */
    public String diagnosis() {
        return diagnosis;
    }
}
