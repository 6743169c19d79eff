package io.rdmatest.fabric;

import io.rdmatest.Cause;
import java.util.List;

/** Signals that a fabric can't be read, found or resolved to a device. The message has one line per problem. */
public class FabricException extends RuntimeException implements Cause.Carrier {

    private static final long serialVersionUID = 1L;

    /** An immutable list, which is serialisable. */
    @SuppressWarnings("serial")
    private final List<String> problems;

    /**
     * Creates the exception for one problem.
     *
     * @param problem one line that names the cause and the cure
     */
    public FabricException(String problem) {
        this(List.of(problem));
    }

    /**
     * Creates the exception for one or more problems.
     *
     * @param problems one line each; at least one
     */
    public FabricException(List<String> problems) {
        super(String.join(System.lineSeparator(), problems));
        this.problems = List.copyOf(problems);
    }

    /** Returns the problems, one line each; in a file's order for a file. */
    public List<String> problems() {
        return problems;
    }

    @Override
    public Cause rdmaCause() {
        return Cause.HOST_NOT_READY;
    }
}
