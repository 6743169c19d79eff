package io.rdmatest.wire;

import io.rdmatest.Cause;
import java.util.List;

/** Signals that packets on the wire break the rules of the specification. */
public final class WireViolationError extends AssertionError implements Cause.Carrier {

    private static final long serialVersionUID = 1L;

    WireViolationError(List<String> violations) {
        super("The packets on the wire break the rules: " + String.join("; ", violations));
    }

    @Override
    public Cause rdmaCause() {
        return Cause.PROTOCOL_VIOLATION;
    }
}
