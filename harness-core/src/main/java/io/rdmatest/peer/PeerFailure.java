package io.rdmatest.peer;

import io.rdmatest.Cause;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Objects;

/**
 * A failure as it is sent over the channel.
 *
 * @param cause the name of its {@link Cause}; a node of another release may send an unknown one
 * @param text its message
 * @param stack its stack trace as text
 */
record PeerFailure(String cause, String text, String stack) {

    private static final int LONGEST_STACK = 64 << 10;

    PeerFailure {
        Objects.requireNonNull(cause, "cause");
        Objects.requireNonNull(text, "text");
        Objects.requireNonNull(stack, "stack");
    }

    /** Describes a failure of this JVM. Messages that were not written for people get the type of the exception. */
    static PeerFailure of(Throwable failure) {
        String message = failure.getMessage();
        boolean isSentence = message != null && (failure instanceof Cause.Carrier || failure instanceof AssertionError);
        StringWriter stack = new StringWriter();
        failure.printStackTrace(new PrintWriter(stack, true));
        return new PeerFailure(
                Cause.of(failure).name(),
                isSentence ? message : failure.toString(),
                stack.getBuffer().length() <= LONGEST_STACK
                        ? stack.toString()
                        : stack.getBuffer().substring(0, LONGEST_STACK) + "…");
    }
}
